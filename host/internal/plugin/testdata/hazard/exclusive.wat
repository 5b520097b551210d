;; Keeps its state outside: it counts its calls. Operation 0x100 crashes, 0x101 spins.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\00\0a\06hazard\12\051.0.0\38\02")
  (func (export "alineo_abi_v1"))
  (global $count (mut i32) (i32.const 0))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 0x10000)
  (func (export "alineo_call") (param $op i32) (param $len i32) (result i64)
    local.get $op i32.const 1 i32.eq if i64.const 0x1000000012 return end
    local.get $op i32.const 2 i32.eq if i64.const 1 return end
    local.get $op i32.const 0x100 i32.eq if unreachable end
    local.get $op i32.const 0x101 i32.eq if loop $for_ever br $for_ever end end
    global.get $count i32.const 1 i32.add global.set $count
    i32.const 129 global.get $count i32.store8
    i64.const 0x8000000002 return
    i64.const 1))
