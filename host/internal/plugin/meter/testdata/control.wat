;; Control flow: loops of several shapes, branch tables, early returns, multiple values, recursion.
(module
  (type $pair (func (param i32 i32) (result i32 i32)))
  (func $swap (type $pair) local.get 1 local.get 0)

  ;; a loop right at the start of the function
  (func (export "count") (param i32) (result i64) (local i64)
    loop $again
      local.get 1 i64.const 3 i64.mul local.get 0 i64.extend_i32_u i64.add local.set 1
      local.get 0 i32.const 1 i32.sub local.tee 0 i32.const 0 i32.gt_s br_if $again
    end
    local.get 1)

  ;; nested loops, the inner one with a parameter and a result
  (func (export "nested") (param i32) (result i64) (local i32 i64)
    local.get 0 i32.const 63 i32.and local.set 0
    block $out
      loop $outer
        local.get 0 i32.eqz br_if $out
        i32.const 50 local.set 1
        local.get 2
        loop $inner (param i64) (result i64)
          local.get 1 i64.extend_i32_u i64.add
          local.get 1 i32.const 1 i32.sub local.tee 1 br_if $inner
        end
        local.set 2
        local.get 0 i32.const 1 i32.sub local.set 0
        br $outer
      end
    end
    local.get 2)

  (func (export "table") (param i32) (result i64)
    block $c block $b block $a
      local.get 0 i32.const 3 i32.and
      br_table $a $b $c $a
    end i64.const 10 return
    end i64.const 20 return
    end i64.const 30)

  (func $fib (export "fib") (param i32) (result i64)
    local.get 0 i32.const 15 i32.and local.tee 0
    i32.const 2 i32.lt_u if (result i64) local.get 0 i64.extend_i32_u
    else
      local.get 0 i32.const 1 i32.sub call $fib
      local.get 0 i32.const 2 i32.sub call $fib
      i64.add
    end)

  (func (export "pair") (param i32) (result i64)
    local.get 0 i32.const 7 call $swap i32.sub i64.extend_i32_s)

  (func (export "dead") (param i32) (result i64)
    local.get 0 i32.const 1 i32.and if i64.const 1 return end
    i64.const 2 return
    loop $never br $never end
    unreachable)

  (func (export "traps") (param i32) (result i64)
    i64.const 100 local.get 0 i64.extend_i32_u i64.div_u))
