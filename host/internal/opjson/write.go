package opjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// Reply writes the operation's reply, whose handles are of call. A page that the guest should not have sent
// is an error.
func (o Operation) Reply(reply abi.Message, call *capability.Call) (json.RawMessage, error) {
	w := writer{call: call, page: columns(o.page)}
	if reply == nil {
		return json.RawMessage("{}"), nil
	}
	if err := w.message(reflect.ValueOf(reply).Elem()); err != nil {
		return nil, fmt.Errorf("writing the reply of %s: %w", o.Name(), err)
	}
	return w.text.Bytes(), nil
}

// Sent writes a request as it goes to the guest, with what its handles stand for. Secrets are not shown.
func (o Operation) Sent(request abi.Message, call *capability.Call) (json.RawMessage, error) {
	w := writer{call: call}
	if request == nil {
		return json.RawMessage("{}"), nil
	}
	if err := w.message(reflect.ValueOf(request).Elem()); err != nil {
		return nil, fmt.Errorf("writing the request of %s: %w", o.Name(), err)
	}
	return w.text.Bytes(), nil
}

// writer writes messages. Members are in the order of fields.
type writer struct {
	call *capability.Call
	page []column // of the rows that a reply has
	text bytes.Buffer
}

func (w *writer) message(m reflect.Value) error {
	t := m.Type()
	w.text.WriteByte('{')
	first := true
	for i := range t.NumField() {
		if skipped(t, t.Field(i).Name) || t.Field(i).Type.Kind() == reflect.Pointer && m.Field(i).IsNil() {
			continue
		}
		if !first {
			w.text.WriteByte(',')
		}
		first = false
		w.quoted(memberName(t.Field(i).Name))
		w.text.WriteByte(':')
		what, table := handles(t, t.Field(i).Name)
		var err error
		if what == noHandle {
			err = w.value(m.Field(i))
		} else {
			err = w.handle(m, m.Field(i).Uint(), what, table)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", memberName(t.Field(i).Name), err)
		}
	}
	w.text.WriteByte('}')
	return nil
}

// handle writes what a handle stands for.
func (w *writer) handle(m reflect.Value, n uint64, what handle, table string) error {
	switch what {
	case batchHandle:
		held, ok := w.call.Get(n)
		if !ok {
			w.text.WriteString("[]")
			return nil
		}
		return w.rows(held, columns(table))
	case pageHandle:
		return w.pageOf(m, n)
	case secretHandle:
		secret, ok := w.call.Secret(n)
		switch {
		case n == 0:
			w.quoted("")
		case !ok:
			return fmt.Errorf("the guest names the secret %d, which it does not hold", n)
		default:
			w.quoted(fmt.Sprintf("(a secret of %d bytes, which is not shown)", len(secret.Reveal())))
		}
	case endpointHandle:
		w.quoted("(an endpoint)")
	case noHandle:
	}
	return nil
}

// pageOf writes the rows of a reply, wherever the guest left them.
func (w *writer) pageOf(m reflect.Value, n uint64) error {
	table := m.FieldByName("Table").Bytes()
	switch {
	case n != 0:
		held, ok := w.call.Get(n)
		if !ok {
			return fmt.Errorf("the guest answered with handle %d, which it does not hold", n)
		}
		return w.rows(held, w.page)
	case len(table) == 0:
		w.text.WriteString("[]")
		return nil
	}
	peek, err := abi.NewTableReader(table)
	if err != nil {
		return fmt.Errorf("the guest answered with a table that can't be read: %w", err)
	}
	if peek.Len() > capability.MaxReadRows {
		return fmt.Errorf("the guest answered with %d rows; a page has at most %d", peek.Len(), capability.MaxReadRows)
	}
	parsed, err := abi.ParseTable(table)
	if err != nil {
		return fmt.Errorf("the guest answered with a table that can't be read: %w", err)
	}
	return w.rows(parsed, w.page)
}

func (w *writer) rows(held capability.Rows, list []column) error {
	if held.Len() > 0 && held.Columns() != len(list) {
		return fmt.Errorf("the rows have %d columns, not %d", held.Columns(), len(list))
	}
	w.text.WriteByte('[')
	for row := range held.Len() {
		if row > 0 {
			w.text.WriteByte(',')
		}
		for i, c := range list {
			w.text.WriteByte("{,"[min(i, 1)])
			w.quoted(c.name)
			w.text.WriteByte(':')
			if err := w.cell(held.Value(row, i)); err != nil {
				return fmt.Errorf("row %d, %s: %w", row, c.name, err)
			}
		}
		w.text.WriteByte('}')
	}
	w.text.WriteByte(']')
	return nil
}

func (w *writer) cell(v abi.Value) error {
	switch v.Kind {
	case abi.KindNull:
		w.text.WriteString("null")
	case abi.KindInt:
		w.text.WriteString(strconv.FormatInt(v.Int, 10))
	case abi.KindBool:
		w.text.WriteString(strconv.FormatBool(v.Int != 0))
	case abi.KindReal:
		if math.IsNaN(v.Real) || math.IsInf(v.Real, 0) {
			w.quoted(strconv.FormatFloat(v.Real, 'g', -1, 64))
			return nil
		}
		w.text.WriteString(strconv.FormatFloat(v.Real, 'g', -1, 64))
	case abi.KindText:
		w.quoted(string(v.Bytes))
	case abi.KindJSON:
		if !json.Valid(v.Bytes) {
			return errors.New("it is called JSON and is none")
		}
		w.text.WriteString(`{"json":`)
		w.text.Write(v.Bytes)
		w.text.WriteByte('}')
	case abi.KindBlob:
		w.text.WriteString(`{"blob":"` + hex.EncodeToString(v.Bytes) + `"}`)
	default:
		return fmt.Errorf("its tag is %d, which this host does not know", v.Kind)
	}
	return nil
}

func (w *writer) value(v reflect.Value) error {
	t := v.Type()
	if list := words(t); list != nil && v.Uint() < uint64(len(list)) {
		w.quoted(list[v.Uint()])
		return nil
	}
	switch t.Kind() { //nolint:exhaustive // these are all that messages have
	case reflect.Pointer:
		return w.value(v.Elem())
	case reflect.String:
		w.quoted(v.String())
	case reflect.Bool:
		w.text.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Uint32, reflect.Uint64:
		w.text.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Int64:
		w.text.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Struct:
		return w.message(v)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			w.quoted(hex.EncodeToString(v.Bytes()))
			return nil
		}
		w.text.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				w.text.WriteByte(',')
			}
			if err := w.value(v.Index(i)); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		w.text.WriteByte(']')
	default:
		return fmt.Errorf("fields of type %v can't be written", t)
	}
	return nil
}

// quoted writes a text, which may be one of a guest's: what is not UTF-8 becomes a mark.
func (w *writer) quoted(text string) {
	enc := json.NewEncoder(&w.text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err == nil { // as any text can be written
		w.text.Truncate(w.text.Len() - 1) // the end of the line
	}
}
