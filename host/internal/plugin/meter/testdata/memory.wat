;; Linear memory: bulk operations, growth, segments, an exported global and a start function.
(module
  (memory (export "memory") 1 3)
  (global $calls (export "calls") (mut i32) (i32.const 0))
  (global $base i32 (i32.const 1024))
  (data (i32.const 16) "the quick brown fox")
  (data $passive "jumps over the lazy dog")
  (start $begin)
  (func $begin i32.const 8 i32.const 0x5eed i32.store)

  (func (export "fill") (param i32) (result i64)
    global.get $calls i32.const 1 i32.add global.set $calls
    global.get $base local.get 0 i32.const 255 i32.and local.get 0 i32.const 0xfff i32.and memory.fill
    global.get $base i64.load)

  (func (export "copy") (param i32) (result i64)
    i32.const 2048 i32.const 8 local.get 0 i32.const 31 i32.and memory.copy
    i32.const 2049 i32.const 2048 local.get 0 i32.const 31 i32.and memory.copy
    i32.const 2052 i64.load)

  (func (export "init") (param i32) (result i64)
    i32.const 3000 local.get 0 i32.const 7 i32.and i32.const 8 memory.init $passive
    i32.const 3000 i64.load)

  (func (export "drop") (param i32) (result i64)
    data.drop $passive
    i32.const 3000 i32.const 0 i32.const 0 memory.init $passive
    i64.const 1)

  ;; what memory.grow answers, at most two pages
  (func (export "grow") (param i32) (result i64)
    local.get 0 i32.const 1 i32.and memory.grow i64.extend_i32_s
    memory.size i64.extend_i32_s i64.const 100 i64.mul i64.add)

  (func (export "grow_too_far") (param i32) (result i64)
    local.get 0 i32.const 0x10000 i32.or memory.grow i64.extend_i32_s)

  (func (export "out_of_bounds") (param i32) (result i64)
    i32.const 0 i32.const 1 local.get 0 i32.const 0x40000000 i32.or memory.fill
    i64.const 0)

  (func (export "narrow") (param i32) (result i64)
    i32.const 100 local.get 0 i32.store8
    i32.const 100 i32.load8_s i64.extend_i32_s
    i32.const 101 i64.load16_u i64.add
    i32.const 100 i64.load32_s offset=4 align=1 i64.add))
