;; A ledger that takes all the memory that it can get in every call, uses it, and answers with all of
;; it, which is neither a frame nor small.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\00\0a\06hungry\12\011\1a\06ledger")
  (func (export "alineo_abi_v1"))
  (func (export "alineo_buffer") (param i32) (result i32) i32.const 1024)
  (func (export "alineo_call") (param $op i32) (param i32) (result i64)
    local.get $op i32.const 1 i32.eq if i64.const 0x1000000014 return end   ;; describe: 20 bytes at 16
    local.get $op i32.const 2 i32.eq if i64.const 0x800000001 return end    ;; configure: one byte at 8
    loop $more i32.const 16 memory.grow i32.const -1 i32.ne br_if $more end
    loop $more i32.const 1 memory.grow i32.const -1 i32.ne br_if $more end
    i32.const 0x10000 i32.const 0xff memory.size i32.const 16 i32.shl i32.const 0x10000 i32.sub memory.fill
    memory.size i64.extend_i32_u i64.const 16 i64.shl i64.const 0x10000 i64.sub i64.const 0x1000000000000 i64.or))
