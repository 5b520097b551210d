;; Asks for a capability before it is configured.
(module
  (import "alineo_v1" "call" (func $call (param i32 i32 i32) (result i64)))
  (memory (export "memory") 2)
  (data (i32.const 16) "\00\0a\06hazard\12\051.0.0")
  (func (export "alineo_abi_v1"))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 0x10000)
  (func (export "alineo_call") (param $op i32) (param $len i32) (result i64)
    local.get $op i32.const 1 i32.eq if i32.const 0x1000 i32.const 0 i32.const 0 call $call i64.const 32 i64.shr_u i64.const 4 i64.ne if unreachable end
      i64.const 0x1000000010 return end
    local.get $op i32.const 2 i32.eq if i64.const 1 return end
    i64.const 1))
