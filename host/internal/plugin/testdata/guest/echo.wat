;; A well-behaved guest without a toolchain: it describes itself, takes any configuration, echoes,
;; and hands requests on to the host.
(module
  (import "alineo_v1" "call" (func $call (param i32 i32 i32) (result i64)))
  (import "alineo_v1" "take" (func $take (param i32)))
  (import "alineo_v1" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 2)
  (global $buffer (mut i32) (i32.const 0x8000))   ;; the request buffer
  (global $room (mut i32) (i32.const 0x18000))    ;; its size
  (global $at (mut i32) (i32.const 0))            ;; where decoding stands
  (data (i32.const 16) "\00\0a\04echo\12\051.0.0")  ;; Manifest{Name: "echo", Version: "1.0.0"}
  (data (i32.const 64) "hello from the guest")
  (data (i32.const 96) "\01\08\05\12\10unknown operatio")  ;; Error{Code: unsupported}

  (func (export "alineo_abi_v1"))
  (func (export "_initialize")
    i32.const 3 i32.const 64 i32.const 20 call $log)

  ;; The buffer grows with the memory and never moves, for it is the last thing in it.
  (func (export "alineo_buffer") (param $size i32) (result i32) (local $pages i32)
    local.get $size global.get $room i32.gt_u if
      local.get $size global.get $room i32.sub i32.const 0xffff i32.add i32.const 16 i32.shr_u local.set $pages
      local.get $pages memory.grow i32.const -1 i32.eq if i32.const 0 return end
      global.get $room local.get $pages i32.const 16 i32.shl i32.add global.set $room
    end
    global.get $buffer)

  (func $varint (result i64) (local $v i64) (local $shift i64) (local $c i64)
    loop $more
      global.get $at i64.load8_u local.set $c
      global.get $at i32.const 1 i32.add global.set $at
      local.get $c i64.const 0x7f i64.and local.get $shift i64.shl local.get $v i64.or local.set $v
      local.get $shift i64.const 7 i64.add local.set $shift
      local.get $c i64.const 0x80 i64.and i64.eqz i32.eqz br_if $more
    end
    local.get $v)

  ;; Finds the body of the Request in the buffer: $at is then its address, and the result its length.
  (func $body (param $len i32) (result i32) (local $end i32) (local $tag i32) (local $n i32)
    global.get $buffer global.set $at
    global.get $buffer local.get $len i32.add local.set $end
    block $none
      loop $next
        global.get $at local.get $end i32.ge_u br_if $none
        call $varint i32.wrap_i64 local.set $tag
        call $varint i32.wrap_i64 local.set $n
        local.get $tag i32.const 0x22 i32.eq if local.get $n return end
        local.get $tag i32.const 7 i32.and i32.const 2 i32.eq if
          global.get $at local.get $n i32.add global.set $at
        end
        br $next
      end
    end
    i32.const 0)

  (func $frame (param $ptr i32) (param $len i32) (result i64)
    local.get $ptr i64.extend_i32_u i64.const 32 i64.shl local.get $len i64.extend_i32_u i64.or)

  (func (export "alineo_call") (param $op i32) (param $len i32) (result i64) (local $n i32) (local $answer i64)
    block $echo block $configure block $describe block $other
      local.get $op
      br_table $other $describe $configure $configure $configure $echo $other
    end
      ;; A host operation is handed on. Its reply, or its error, is the answer.
      local.get $op i32.const 0x1000 i32.ge_u if
        local.get $len call $body local.set $n
        local.get $op global.get $at local.get $n call $call local.set $answer
        global.get $buffer
        local.get $answer i64.const 32 i64.shr_u i64.const 0 i64.ne
        i32.store8
        global.get $buffer i32.const 1 i32.add call $take
        global.get $buffer local.get $answer i32.wrap_i64 i32.const 1 i32.add call $frame return
      end
      i32.const 96 i32.const 21 call $frame return
    end
      i32.const 16 i32.const 14 call $frame return
    end
      i32.const 0 i32.const 0 i32.store8
      i32.const 0 i32.const 1 call $frame return
    end
    ;; The status takes the place of the last byte before the body.
    local.get $len call $body local.set $n
    global.get $at i32.const 1 i32.sub i32.const 0 i32.store8
    global.get $at i32.const 1 i32.sub local.get $n i32.const 1 i32.add call $frame))
