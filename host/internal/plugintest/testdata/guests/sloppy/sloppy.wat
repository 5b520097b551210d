;; A ledger that answers every call with an empty reply, whatever it was asked and whether it could read
;; it. It wants to log and does not say why.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\00\0a\06sloppy\12\011\1a\06ledger*\05\0a\03log")
  (func (export "alineo_abi_v1"))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 1024)
  (func (export "alineo_call") (param $op i32) (param i32) (result i64)
    local.get $op i32.const 1 i32.eq if i64.const 0x100000001b return end   ;; describe: 27 bytes at 16
    i64.const 0x800000001))                                                 ;; one byte at 8
