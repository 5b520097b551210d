;; Tables and references: calls through tables, every kind of element segment, bulk operations.
(module
  (import "env" "add" (func $add (param i32 i32) (result i32)))
  (type $op (func (param i32 i32) (result i32)))
  (table $t (export "table") 8 20 funcref)
  (table $u 4 externref)
  (elem (table $t) (i32.const 0) func $add $sub $mul)
  (elem $passive func $mul $sub $add)
  (elem $exprs funcref (ref.func $sub) (ref.null func))
  (elem declare func $mul)
  (elem (table $t) (i32.const 4) funcref (ref.func $mul))
  (func $sub (type $op) local.get 0 local.get 1 i32.sub)
  (func $mul (export "mul") (type $op) local.get 0 local.get 1 i32.mul)

  (func (export "direct") (param i32) (result i64)
    local.get 0 i32.const 5 call $add i64.extend_i32_s)
  (func (export "indirect") (param i32) (result i64)
    local.get 0 i32.const 5 local.get 0 i32.const 7 i32.and
    call_indirect $t (type $op) i64.extend_i32_s)
  (func (export "init") (param i32) (result i64)
    i32.const 5 local.get 0 i32.const 1 i32.and i32.const 2 table.init $t $passive
    local.get 0 i32.const 3 i32.const 5 call_indirect $t (type $op) i64.extend_i32_s)
  (func (export "init_null") (param i32) (result i64)
    i32.const 3 i32.const 0 i32.const 2 table.init $t $exprs
    local.get 0 i32.const 3 i32.const 3 call_indirect $t (type $op) i64.extend_i32_s)
  (func (export "copy") (param i32) (result i64)
    i32.const 1 i32.const 0 i32.const 3 table.copy $t $t
    local.get 0 i32.const 9 i32.const 2 call_indirect $t (type $op) i64.extend_i32_s)
  (func (export "grow") (param i32) (result i64)
    ref.func $mul local.get 0 i32.const 3 i32.and table.grow $t i64.extend_i32_s
    table.size $t i64.extend_i32_s i64.const 100 i64.mul i64.add)
  (func (export "fill") (param i32) (result i64)
    i32.const 0 ref.func $mul i32.const 4 table.fill $t
    local.get 0 i32.const 3 i32.const 1 call_indirect $t (type $op) i64.extend_i32_s)
  (func (export "get") (param i32) (result i64)
    local.get 0 i32.const 7 i32.and table.get $t ref.is_null i64.extend_i32_u)
  (func (export "set") (param i32) (result i64)
    i32.const 7 i32.const 0 table.get $t table.set $t
    i32.const 0 ref.null extern table.set $u
    i32.const 0 table.get $u ref.is_null i64.extend_i32_u)
  (func (export "typed_select") (param i32) (result i64)
    ref.func $mul ref.null func local.get 0 i32.const 1 i32.and
    select (result funcref) ref.is_null i64.extend_i32_u)
  (func (export "drop") (param i32) (result i64)
    elem.drop $exprs i64.const 3))
