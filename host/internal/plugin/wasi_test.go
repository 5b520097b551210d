package plugin

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// poller is a call with a memory of one page, outside any guest.
func poller(t *testing.T, limit time.Duration) (*callContext, api.Memory) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { r.Close(ctx) })
	module, err := r.Instantiate(ctx, []byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x07\x0a\x01\x06memory\x02\x00"))
	if err != nil {
		t.Fatal(err)
	}
	life, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	p := &Plugin{runtime: &Runtime{clock: clock{epoch: time.Now()}}, life: life}
	c := new(callContext)
	c.reset(ctx, &instance{plugin: p}, 5, p.runtime.clock.now(), limit)
	t.Cleanup(c.end)
	return c, module.Memory()
}

type subscription struct {
	data  uint64
	event byte
	id    uint32 // clock or file
	at    uint64
	flags uint16
}

func (s subscription) encode() []byte {
	le := binary.LittleEndian
	b := make([]byte, subscriptionSize)
	le.PutUint64(b, s.data)
	b[8] = s.event
	le.PutUint32(b[16:], s.id)
	le.PutUint64(b[24:], s.at)
	le.PutUint16(b[40:], s.flags)
	return b
}

func TestPollOneoff(t *testing.T) {
	t.Parallel()
	ms := func(n int) uint64 { return uint64(n) * uint64(time.Millisecond) }
	for _, c := range []struct {
		name  string
		subs  []subscription
		errno uint32
		sleep time.Duration
		want  map[uint64]uint16 // data and error of each event
	}{
		{"relative", []subscription{{data: 1, id: 1, at: ms(30)}}, 0, 30 * time.Millisecond, map[uint64]uint16{1: 0}},
		{
			"the nearest of three",
			[]subscription{{data: 1, at: ms(500)}, {data: 2, at: ms(20)}, {data: 3, at: 1 << 63}},
			0,
			20 * time.Millisecond,
			map[uint64]uint16{2: 0},
		},
		{"now", []subscription{{data: 1}}, 0, 0, map[uint64]uint16{1: 0}},
		{"absolute, monotonic", []subscription{{data: 1, id: 1, at: ms(40), flags: 1}}, 0, 40 * time.Millisecond, map[uint64]uint16{1: 0}},
		{"absolute, in the past", []subscription{{data: 1, id: 0, at: 1, flags: 1}}, 0, 0, map[uint64]uint16{1: 0}},
		{
			"a stream is ready before a clock",
			[]subscription{{data: 1, at: ms(500)}, {data: 2, event: eventFdRead}, {data: 3, event: eventFdWrite, id: 2}},
			0, 0,
			map[uint64]uint16{2: 0, 3: 0},
		},
		{"no such file", []subscription{{data: 1, event: eventFdRead, id: 7}}, 0, 0, map[uint64]uint16{1: wasiBadf}},
		{"nothing", nil, wasiInval, 0, nil},
		{"unknown event", []subscription{{event: 9}}, wasiInval, 0, nil},
		{"unknown clock", []subscription{{id: 3, flags: 1}}, wasiInval, 0, nil},
		{"too many", make([]subscription, maxSubscriptions+1), wasiInval, 0, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			call, memory := poller(t, time.Hour)
			for i, s := range c.subs {
				if i < 1000 {
					memory.Write(uint32(i*subscriptionSize), s.encode())
				}
			}
			const out, result = 50_000, 60_000
			began := time.Now()
			if errno := call.pollOneoff(memory, 0, out, uint32(len(c.subs)), result); errno != c.errno {
				t.Errorf("%s: errno %d, want %d", c.name, errno, c.errno)
			}
			if took := time.Since(began); took != c.sleep {
				t.Errorf("%s: took %v, want %v", c.name, took, c.sleep)
			}
			if c.errno != 0 {
				return
			}
			n, _ := memory.ReadUint32Le(result)
			if int(n) != len(c.want) {
				t.Errorf("%s: %d events, want %d", c.name, n, len(c.want))
			}
			for i := range n {
				data, _ := memory.ReadUint64Le(out + i*eventSize)
				errno, _ := memory.ReadUint16Le(out + i*eventSize + 8)
				if want, ok := c.want[data]; !ok || errno != want {
					t.Errorf("%s: event %d with error %d, want %v", c.name, data, errno, c.want)
				}
			}
		})
	}
}

func TestPollOutsideMemory(t *testing.T) {
	t.Parallel()
	call, memory := poller(t, time.Hour)
	memory.Write(0, subscription{}.encode())
	for _, at := range [][3]uint32{{65536 - 47, 100, 200}, {0, 65536 - 31, 200}, {0, 100, 65533}, {1<<32 - 48, 100, 200}} {
		if errno := call.pollOneoff(memory, at[0], at[1], 1, at[2]); errno != wasiFault {
			t.Errorf("%v: errno %d", at, errno)
		}
	}
	if errno := call.randomGet(memory, 65530, 7); errno != wasiFault {
		t.Errorf("random: errno %d", errno)
	}
}

// A sleep ends with the call.
func TestSleepEndsWithCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		call, memory := poller(t, time.Minute)
		memory.Write(0, subscription{at: uint64(time.Hour)}.encode())
		began := time.Now()
		defer func() {
			if f, ok := recover().(*fault); !ok || f.kind != KindDeadline || time.Since(began) != time.Minute {
				t.Errorf("ended with %v after %v", f, time.Since(began))
			}
		}()
		call.pollOneoff(memory, 0, 100, 1, 200)
	})
}
