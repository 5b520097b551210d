//go:build !wasip1 && !tinygo.wasm

package alineo

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// batchHost keeps rows of one number and one text, and hands out so many rows a page.
func batchHost(texts [][]byte, page int, cutAbove int) *double {
	return &double{
		read: func(req *abi.BatchRead) (*abi.BatchRows, *abi.Error) {
			if req.Handle != 5 {
				return nil, &abi.Error{Code: abi.CodeNotFound, Message: "no such handle"}
			}
			reply := new(abi.BatchRows)
			w := abi.NewTableWriter(nil, 2)
			row := int(req.First)
			for ; row < min(len(texts), int(req.First)+page); row++ {
				text := abi.Text(string(texts[row]))
				if len(texts[row]) > cutAbove {
					text = abi.Null
					reply.Cut = append(reply.Cut, uint64(row)<<8|1)
				}
				w.Row(abi.Int(int64(row)), text)
			}
			reply.Table, reply.Next = w.Bytes(), uint64(row)
			return reply, nil
		},
		cell: func(req *abi.BatchCell) (*abi.BatchBytes, *abi.Error) {
			cell := texts[req.Row]
			end := min(len(cell), int(req.Offset)+1000)
			return &abi.BatchBytes{Data: cell[req.Offset:end], Total: uint64(len(cell))}, nil
		},
		sql: func(*abi.SQLExec) (*abi.SQLExecReply, *abi.Error) {
			return &abi.SQLExecReply{Steps: make([]abi.SQLStepResult, 1)}, nil
		},
	}
}

func TestEachRow(t *testing.T) {
	t.Parallel()
	var texts [][]byte
	for i := range 2500 {
		texts = append(texts, bytes.Repeat([]byte(strconv.Itoa(i%10)), i))
	}
	serveTest(t, Plugin{}, batchHost(texts, 100, 2000))
	seen := 0
	err := Batch(5).Each(func(row uint64, values []abi.Value) error {
		if int(row) != seen || len(values) != 2 || values[0].Int != int64(seen) || !bytes.Equal(values[1].Bytes, texts[seen]) {
			t.Fatalf("row %d after %d rows: number %d, %d bytes of text", row, seen, values[0].Int, len(values[1].Bytes))
		}
		if seen%700 == 0 { // answers that are wanted in between
			if _, err := SQL("x").Read(Query("y")); err != nil {
				return err
			}
		}
		seen++
		return nil
	})
	if err != nil || seen != len(texts) {
		t.Errorf("%d rows, %v", seen, err)
	}
	if held := cap(guest.answers.block); held > 2*keepBuffer {
		t.Errorf("walking the rows holds %d bytes", held)
	}

	stop := errors.New("enough")
	if err := Batch(5).Each(func(uint64, []abi.Value) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopping: %v", err)
	}
	if err := Batch(6).Each(nil); code(t, err) != abi.CodeNotFound {
		t.Errorf("an unknown handle: %v", err)
	}
}

func TestEachRowOfNone(t *testing.T) {
	t.Parallel()
	serveTest(t, Plugin{}, batchHost(nil, 1, 1))
	if err := Batch(5).Each(nil); err != nil {
		t.Error(err)
	}
}

func TestEachRowOfAHostThatStandsStill(t *testing.T) {
	t.Parallel()
	serveTest(t, Plugin{}, &double{read: func(*abi.BatchRead) (*abi.BatchRows, *abi.Error) {
		w := abi.NewTableWriter(nil, 1)
		w.Row(abi.Int(1))
		return &abi.BatchRows{Table: w.Bytes()}, nil
	}})
	err := Batch(5).Each(func(uint64, []abi.Value) error { return nil })
	if code(t, err) != abi.CodeInternal {
		t.Error(err)
	}
}
