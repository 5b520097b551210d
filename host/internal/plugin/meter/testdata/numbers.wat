;; Arithmetic: constants at their bounds, floats, conversions, sign extension, vectors.
(module
  (memory 1)
  (global $f64 (mut f64) (f64.const 0.1))
  (global $v (mut v128) (v128.const i32x4 1 2 3 4))
  (func (export "consts") (param i32) (result i64)
    local.get 0 i32.const -2147483648 i32.xor i32.const 2147483647 i32.add i64.extend_i32_u
    i64.const -9223372036854775808 i64.xor i64.const 9223372036854775807 i64.add)
  (func (export "floats") (param i32) (result i64)
    global.get $f64 local.get 0 f64.convert_i32_s f64.add global.set $f64
    global.get $f64 f64.sqrt f32.demote_f64 f32.const 3.25 f32.mul
    i64.trunc_sat_f32_s global.get $f64 i64.reinterpret_f64 i64.xor)
  (func (export "sign") (param i32) (result i64)
    local.get 0 i32.extend8_s i64.extend_i32_s i64.extend16_s)
  (func (export "vector") (param i32) (result i64)
    global.get $v local.get 0 i32x4.splat i32x4.add
    v128.const i8x16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 v128.xor global.set $v
    i32.const 0 global.get $v v128.store
    i32.const 8 v128.load64_zero
    i32.const 1 global.get $v v128.load8_lane 3
    i16x8.extmul_high_i8x16_s
    global.get $v i8x16.shuffle 0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30
    i16x8.abs i32x4.extadd_pairwise_i16x8_u f32x4.convert_i32x4_s f32x4.sqrt f64x2.promote_low_f32x4
    i64x2.extract_lane 1
    global.get $v i32x4.trunc_sat_f32x4_u i64x2.extract_lane 0 i64.xor))
