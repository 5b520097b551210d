;; A ledger that crashes in every call after its configuration.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\00\0a\04trap\12\011\1a\06ledger")
  (func (export "alineo_abi_v1"))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 1024)
  (func (export "alineo_call") (param $op i32) (param i32) (result i64)
    local.get $op i32.const 1 i32.eq if i64.const 0x1000000012 return end   ;; describe: 18 bytes at 16
    local.get $op i32.const 2 i32.eq if i64.const 0x800000001 return end    ;; configure: one byte at 8
    unreachable))
