;; Crashes in its start function.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\00\0a\06hazard\12\051.0.0")
  (func (export "alineo_abi_v1"))
  (start $begin)
  (func $begin unreachable)
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 0x10000)
  (func (export "alineo_call") (param $op i32) (param $len i32) (result i64)
    local.get $op i32.const 1 i32.eq if i64.const 0x1000000010 return end
    local.get $op i32.const 2 i32.eq if i64.const 1 return end
    i64.const 1))
