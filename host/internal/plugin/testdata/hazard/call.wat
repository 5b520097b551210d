;; Everything that can go wrong in one call, chosen by the operation. What the host must make of each
;; is said in hazard_test.go, which also names the operations.
(module
  (import "alineo_v1" "call" (func $call (param i32 i32 i32) (result i64)))
  (import "alineo_v1" "take" (func $take (param i32)))
  (import "alineo_v1" "log" (func $log (param i32 i32 i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pwrite" (func $pwrite (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (table $table 1 funcref)
  (global $buffer_does (mut i32) (i32.const 0))
  (data (i32.const 16) "\00\0a\06hazard\12\051.0.0")
  (data (i32.const 64) "log line of a guest\n")
  (data (i32.const 96) "\40\00\00\00\14\00\00\00")     ;; an iovec of that line
  (data (i32.const 104) "\00\00\10\00\00\00\e0\00")    ;; an iovec of 14 MiB
  (data (i32.const 112) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\ff\ff\ff\ff\ff\ff\ff\7f")
                                                        ;; a subscription to a clock, 292 years from now
  (data (i32.const 200) "\01\08\01\12\30cut off")       ;; an Error whose message is longer than the frame
  (data (i32.const 220) "\02whatever")                  ;; a status that does not exist
  (data (i32.const 240) "\00\ff\ff\ff\ff")              ;; a reply that is no message
  (data (i32.const 260) "\01")                          ;; an Error without a code

  (func (export "alineo_abi_v1"))

  ;; What the next request for a buffer does is chosen by an earlier call.
  (func (export "alineo_buffer") (param $size i32) (result i32) (local $mode i32)
    global.get $buffer_does local.set $mode
    i32.const 0 global.set $buffer_does
    local.get $mode i32.const 1 i32.eq if unreachable end
    local.get $mode i32.const 2 i32.eq if loop $for_ever br $for_ever end end
    local.get $mode i32.const 3 i32.eq if i32.const 0 return end
    local.get $mode i32.const 4 i32.eq if i32.const 0xffffffff return end
    local.get $mode i32.const 5 i32.eq if i32.const 0x1fffd return end
    local.get $mode i32.const 6 i32.eq if i32.const 0x10001 return end
    i32.const 0x10000)

  (func $frame (param $ptr i32) (param $len i32) (result i64)
    local.get $ptr i64.extend_i32_u i64.const 32 i64.shl local.get $len i64.extend_i32_u i64.or)

  (func $recurse (param i64) (result i64)
    local.get 0 local.get 0 i64.const 1 i64.add call $recurse i64.mul)

  (func $grow_until_refused
    loop $more i32.const 16 memory.grow i32.const -1 i32.ne br_if $more end
    loop $more i32.const 1 memory.grow i32.const -1 i32.ne br_if $more end)

  (func (export "alineo_call") (param $op i32) (param $len i32) (result i64)
    local.get $op i32.const 1 i32.eq if i32.const 16 i32.const 16 call $frame return end
    local.get $op i32.const 2 i32.eq if i32.const 0 i32.const 1 call $frame return end

    ;; crashes
    local.get $op i32.const 0x100 i32.eq if unreachable end
    local.get $op i32.const 0x101 i32.eq if i32.const -8 i64.load drop end
    local.get $op i32.const 0x102 i32.eq if i64.const 0 call $recurse return end
    local.get $op i32.const 0x103 i32.eq if i32.const 7 call $exit end
    local.get $op i32.const 0x104 i32.eq if call $grow_until_refused unreachable end
    local.get $op i32.const 0x105 i32.eq if
      loop $more ref.null func i32.const 65536 table.grow $table i32.const -1 i32.ne br_if $more end
      unreachable
    end

    ;; calls that do not come to an end
    local.get $op i32.const 0x110 i32.eq if loop $for_ever br $for_ever end end
    local.get $op i32.const 0x111 i32.eq if
      call $grow_until_refused
      loop $for_ever i32.const 0x20000 i32.const 1 i32.const 0xe00000 memory.fill br $for_ever end
    end
    local.get $op i32.const 0x112 i32.eq if
      call $grow_until_refused
      loop $for_ever i32.const 0x20001 i32.const 0x20000 i32.const 0xd00000 memory.copy br $for_ever end
    end
    local.get $op i32.const 0x113 i32.eq if
      loop $for_ever i32.const 0x1000 i32.const 16 i32.const 0 call $call drop br $for_ever end
    end
    local.get $op i32.const 0x114 i32.eq if
      loop $for_ever i32.const 3 i32.const 64 i32.const 19 call $log br $for_ever end
    end
    local.get $op i32.const 0x115 i32.eq if
      loop $for_ever i32.const 2 i32.const 96 i32.const 1 i32.const 300 call $write drop br $for_ever end
    end
    local.get $op i32.const 0x116 i32.eq if
      loop $for_ever i32.const 112 i32.const 320 i32.const 1 i32.const 312 call $poll drop br $for_ever end
    end
    local.get $op i32.const 0x117 i32.eq if
      call $grow_until_refused
      loop $for_ever i32.const 0x20000 i32.const 0xe00000 call $random drop br $for_ever end
    end
    local.get $op i32.const 0x118 i32.eq if
      call $grow_until_refused
      loop $for_ever i32.const 1 i32.const 104 i32.const 1 i32.const 300 call $write drop br $for_ever end
    end
    local.get $op i32.const 0x119 i32.eq if
      loop $for_ever ref.null func i32.const 0 table.grow $table drop i32.const 0 memory.grow drop br $for_ever end
    end
    local.get $op i32.const 0x11a i32.eq if
      loop $for_ever i32.const 0x1fff i32.const 0 i32.const 0 call $call drop br $for_ever end
    end

    local.get $op i32.const 0x11b i32.eq if   ;; millions of empty buffers
      call $grow_until_refused
      loop $for_ever i32.const 0 i32.const 0x20000 i32.const 0x1c0000 i32.const 300 call $read drop br $for_ever end
    end
    local.get $op i32.const 0x11c i32.eq if
      call $grow_until_refused
      loop $for_ever i32.const 1 i32.const 0x20000 i32.const 0x1c0000 i64.const 0 i32.const 300 call $pwrite drop br $for_ever end
    end
    local.get $op i32.const 0x11d i32.eq if   ;; a path of 14 MiB
      call $grow_until_refused
      loop $for_ever i32.const 3 i32.const 0x20000 i32.const 0xe00000 call $unlink drop br $for_ever end
    end

    ;; pointers that lead out of memory
    local.get $op i32.const 0x120 i32.eq if i32.const 0xffffff00 i32.const 1 call $frame return end
    local.get $op i32.const 0x121 i32.eq if i32.const 0x1ffff i32.const 2 call $frame return end
    local.get $op i32.const 0x122 i32.eq if i32.const 0x1000 i32.const 0xffffffff i32.const 8 call $call drop end
    local.get $op i32.const 0x123 i32.eq if i32.const 0x1000 i32.const 0x1fffc i32.const 8 call $call drop end
    local.get $op i32.const 0x124 i32.eq if
      i32.const 0x1fff i32.const 0 i32.const 0 call $call drop
      i32.const 0x1fffe call $take
    end
    local.get $op i32.const 0x125 i32.eq if i32.const 0x10000 call $take end
    local.get $op i32.const 0x126 i32.eq if i32.const 3 i32.const 0x1ffff i32.const 100 call $log end
    local.get $op i32.const 0x127 i32.eq if
      i32.const 0x1fff i32.const 0 i32.const 0 call $call drop
      i32.const 0x10000 call $take i32.const 0x10000 call $take
    end

    ;; too much
    local.get $op i32.const 0x130 i32.eq if
      i32.const 0x200 memory.grow drop
      i32.const 0x10000 i32.const 0x1100000 call $frame return
    end
    local.get $op i32.const 0x131 i32.eq if i32.const 0x10000 i32.const 0xffffffff call $frame return end
    local.get $op i32.const 0x132 i32.eq if
      i32.const 0x200 memory.grow drop
      i32.const 0x1000 i32.const 0x10000 i32.const 0x1100000 call $call drop
    end

    ;; frames that are none
    local.get $op i32.const 0x140 i32.eq if i32.const 200 i32.const 12 call $frame return end
    local.get $op i32.const 0x141 i32.eq if i32.const 220 i32.const 9 call $frame return end
    local.get $op i32.const 0x142 i32.eq if i32.const 16 i32.const 0 call $frame return end
    local.get $op i32.const 0x143 i32.eq if i64.const 0 return end
    local.get $op i32.const 0x144 i32.eq if i32.const 240 i32.const 5 call $frame return end
    local.get $op i32.const 0x145 i32.eq if i32.const 260 i32.const 1 call $frame return end

    ;; what the next request for a buffer does
    local.get $op i32.const 0x150 i32.ge_u if
      local.get $op i32.const 0x15f i32.le_u if
        local.get $op i32.const 0x150 i32.sub global.set $buffer_does
      end
    end

    ;; harmless
    local.get $op i32.const 0x160 i32.eq if
      ;; the engine's own would make a table of two thousand million files
      i32.const 1 i32.const 0x7fffffff call $renumber i32.const 8 i32.ne if unreachable end
    end
    i32.const 0 i32.const 1 call $frame))
