package opjson

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
)

// Lender makes an endpoint of a base URL, empty when the request names none.
type Lender func(baseURL string) (capability.Endpoint, error)

// Request reads the operation's request, an object, and lends call what it stands for. Empty text is an empty
// object. The error names the member that is wrong.
func (o Operation) Request(text []byte, call *capability.Call, lend Lender) (abi.Message, error) {
	fail := func(err error) (abi.Message, error) {
		return nil, fmt.Errorf("reading the request of %s: %w", o.Name(), err)
	}
	value, err := parse(text)
	if err != nil {
		return fail(err)
	}
	r := reader{call: call, lend: lend}
	if o.request == nil {
		if len(value) > 0 {
			return fail(fmt.Errorf("%s has no members, and %s is there", o.Name(), strings.Join(slices.Sorted(maps.Keys(value)), ", ")))
		}
		return nil, nil //nolint:nilnil // the message without fields
	}
	if o.Op == abi.OpLedgerAppend {
		if err := completeAppend(value); err != nil {
			return fail(err)
		}
	}
	if events, ok := value["events"].([]any); ok && o.Op == abi.OpLogAppend {
		completeLog(value, events)
	}
	message := o.request()
	if err := r.message("", reflect.ValueOf(message).Elem(), value); err != nil {
		return fail(err)
	}
	return message, nil
}

// parse reads one JSON object, whose numbers stay texts.
func parse(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return object, nil
}

// reader fills in messages.
type reader struct {
	call *capability.Call
	lend Lender
}

// message fills in a message's fields. path is the dotted name of what is around it, with the dot.
func (r *reader) message(path string, into reflect.Value, object map[string]any) error {
	t := into.Type()
	known := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		name := memberName(t.Field(i).Name)
		known = append(known, name)
		value, given := object[name]
		what, table := handles(t, t.Field(i).Name)
		switch {
		case what == batchHandle || what == secretHandle || what == endpointHandle:
			n, err := r.handle(value, given, what, table)
			if err != nil {
				return fmt.Errorf("%s%s: %w", path, name, err)
			}
			into.Field(i).SetUint(n)
		case given && value != nil:
			if err := r.field(path+name, into.Field(i), value); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s%s: there is no such member (there are: %s)", path, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// handle lends what a value stands for, and returns its handle.
func (r *reader) handle(value any, given bool, what handle, table string) (uint64, error) {
	text, isText := value.(string)
	switch {
	case what == endpointHandle && (!given || isText):
		endpoint, err := r.lend(text)
		if err != nil {
			return 0, err
		}
		return r.call.PutEndpoint(endpoint), nil
	case !given || value == nil:
		return 0, nil
	case what == secretHandle && isText:
		return r.call.PutSecret(credential.NewSecret(text)), nil
	case what == batchHandle:
		rows, err := readRows(value, columns(table))
		if err != nil {
			return 0, err
		}
		return r.call.Put(rows), nil
	}
	return 0, errors.New("it is not a text")
}

func (r *reader) field(path string, into reflect.Value, value any) error {
	fail := func(want string) error { return fmt.Errorf("%s: it is not %s", path, want) }
	t := into.Type()
	if list := words(t); list != nil {
		if text, ok := value.(string); ok {
			n := slices.Index(list, text)
			if n < 0 {
				return fail("one of " + strings.Join(list, ", "))
			}
			into.SetUint(uint64(n))
			return nil
		}
	}
	switch t.Kind() { //nolint:exhaustive // these are all that messages have
	case reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		return r.field(path, into.Elem(), value)
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return fail("a text")
		}
		into.SetString(text)
	case reflect.Bool:
		set, ok := value.(bool)
		if !ok {
			return fail("true or false")
		}
		into.SetBool(set)
	case reflect.Uint32, reflect.Uint64:
		var n uint64
		if number, ok := value.(json.Number); !ok || json.Unmarshal([]byte(number), &n) != nil || into.OverflowUint(n) {
			return fail("a whole number that is not negative")
		}
		into.SetUint(n)
	case reflect.Int64:
		var n int64
		if number, ok := value.(json.Number); !ok || json.Unmarshal([]byte(number), &n) != nil {
			return fail("a whole number")
		}
		into.SetInt(n)
	case reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return fail("an object")
		}
		return r.message(path+".", into, object)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			data, err := readBytes(value)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			into.SetBytes(data)
			return nil
		}
		list, ok := value.([]any)
		if !ok {
			return fail("a list")
		}
		into.Set(reflect.MakeSlice(t, len(list), len(list)))
		for i, element := range list {
			if err := r.field(fmt.Sprintf("%s[%d]", path, i), into.Index(i), element); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%s: fields of type %v can't be read", path, t)
	}
	return nil
}

// readBytes reads hex, {"text": …}, {"json": …} or {"blob": hex}.
func readBytes(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		data, err := hex.DecodeString(value)
		if err != nil {
			return nil, errors.New(`it is not hex (a text is written {"text": "…"})`)
		}
		return data, nil
	case map[string]any:
		cell, err := readCell(value, "")
		if err == nil && cell.Bytes != nil {
			return cell.Bytes, nil
		}
	}
	return nil, errors.New(`it is neither hex nor {"text": "…"}, {"json": …} or {"blob": "hex"}`)
}

// rows is a batch that was read.
type rows struct {
	columns int
	cells   [][]abi.Value
}

// Len is the number of rows.
func (r rows) Len() int { return len(r.cells) }

// Columns is the number of columns.
func (r rows) Columns() int { return r.columns }

// Value returns one cell.
func (r rows) Value(row, column int) abi.Value { return r.cells[row][column] }

// readRows reads an array of objects whose members are columns.
func readRows(value any, list []column) (rows, error) {
	array, ok := value.([]any)
	if !ok {
		return rows{}, errors.New("it is not an array of rows")
	}
	table := rows{columns: len(list)}
	known := make([]string, len(list))
	for i, c := range list {
		known[i] = c.name
	}
	for n, element := range array {
		object, ok := element.(map[string]any)
		if !ok {
			return rows{}, fmt.Errorf("row %d is not an object", n)
		}
		cells := make([]abi.Value, len(list))
		for i, c := range list {
			cell, err := readCell(object[c.name], c.doc)
			if err != nil {
				return rows{}, fmt.Errorf("row %d, %s: %w", n, c.name, err)
			}
			cells[i] = cell
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if !slices.Contains(known, name) {
				return rows{}, fmt.Errorf("row %d, %s: there is no such column (there are: %s)", n, name, strings.Join(known, ", "))
			}
		}
		table.cells = append(table.cells, cells)
	}
	return table, nil
}

// readCell reads one cell. doc says of which kind the column is: it tells a blob's hex from a text, and a
// JSON value from none.
func readCell(value any, doc string) (abi.Value, error) {
	switch value := value.(type) {
	case nil:
		if strings.HasPrefix(doc, "blob") {
			return abi.Blob([]byte{}), nil
		}
		return abi.Null, nil
	case bool:
		return abi.Bool(value), nil
	case json.Number:
		var n int64
		if json.Unmarshal([]byte(value), &n) == nil {
			return abi.Int(n), nil
		}
		f, err := value.Float64()
		if err != nil || math.IsInf(f, 0) {
			return abi.Null, fmt.Errorf("%s is too large a number", value)
		}
		return abi.Real(f), nil
	case string:
		switch {
		case strings.HasPrefix(doc, "blob"):
			data, err := hex.DecodeString(value)
			if err != nil {
				return abi.Null, errors.New("it is not hex")
			}
			return abi.Blob(data), nil
		case strings.HasPrefix(doc, "json"):
			return jsonCell(value)
		}
		return abi.Text(value), nil
	case map[string]any:
		if len(value) == 1 && !strings.HasPrefix(doc, "json") || isTagged(value) {
			return taggedCell(value)
		}
		return jsonCell(value)
	default:
		return jsonCell(value)
	}
}

// isTagged tells {"json": …} from an object that is a JSON value itself.
func isTagged(value map[string]any) bool {
	_, tagged := value["json"]
	return tagged && len(value) == 1
}

func taggedCell(value map[string]any) (abi.Value, error) {
	for tag, inner := range value {
		text, isText := inner.(string)
		switch {
		case tag == "json":
			return jsonCell(inner)
		case tag == "text" && isText:
			return abi.Text(text), nil
		case tag == "blob" && isText:
			data, err := hex.DecodeString(text)
			if err != nil {
				return abi.Null, errors.New("it is not hex")
			}
			return abi.Blob(data), nil
		}
	}
	return abi.Null, errors.New(`it is none of {"text": "…"}, {"json": …} and {"blob": "hex"}`)
}

func jsonCell(value any) (abi.Value, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return abi.Null, fmt.Errorf("writing it as JSON: %w", err)
	}
	return abi.JSON(text), nil
}
