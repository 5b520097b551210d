;; Has alineo_call with the signature of another age.
(module
  (memory (export "memory") 2)
  (data (i32.const 16) "\00\0a\06hazard\12\051.0.0")
  (func (export "alineo_abi_v1"))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 0x10000)
  (func (export "alineo_call") (param i32 i32 i32) (result i32) i32.const 0))
