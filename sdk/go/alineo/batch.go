package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Batch is a handle: rows that stay on the host until the running call ends. A plugin that is not an
// SQL adapter reads them through it.
type Batch uint64

// Read returns a page of rows from first on, at most maxRows and about maxBytes of them; 0 is no
// bound but the host's. A cell that did not fit is null and named in the reply's Cut.
func (b Batch) Read(first, maxRows, maxBytes uint64) (*abi.BatchRows, error) {
	reply := new(abi.BatchRows)
	req := abi.BatchRead{Handle: uint64(b), First: first, MaxRows: maxRows, MaxBytes: maxBytes}
	if err := Invoke(abi.OpBatchRead, &req, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// Cell returns up to length bytes of one text, json or blob cell from offset on, and the length of
// the whole cell. The host may give less than asked.
func (b Batch) Cell(row uint64, column uint32, offset, length uint64) (data []byte, total uint64, err error) {
	var reply abi.BatchBytes
	req := abi.BatchCell{Handle: uint64(b), Row: row, Column: uint64(column), Offset: offset, Length: length}
	if err := Invoke(abi.OpBatchCell, &req, &reply); err != nil {
		return nil, 0, err
	}
	return reply.Data, reply.Total, nil
}

// Each calls visit for every row of the batch, whole cells and all, a page of about 256 KiB at a
// time. The values are good until visit returns. A cell that was too large for a page comes as text,
// whatever its kind. Use Read and Cell when a cell may be too large for the guest's memory.
func (b Batch) Each(visit func(row uint64, values []abi.Value) error) error {
	const page = 256 << 10
	var values []abi.Value
	for first := uint64(0); ; {
		start := guest.answers.mark()
		rows, err := b.Read(first, 0, page)
		if err != nil {
			return err
		}
		end := guest.answers.mark()
		table, err := abi.NewTableReader(rows.Table)
		if err != nil {
			return err
		}
		if len(values) != table.Columns() {
			values = make([]abi.Value, table.Columns())
		}
		row := first
		for ; table.Next(values); row++ {
			if err := b.fill(row, values, rows.Cut); err != nil {
				return err
			}
			if err := visit(row, values); err != nil {
				return err
			}
		}
		if err := table.Err(); err != nil {
			return err
		}
		if table.Len() == 0 {
			return nil
		}
		if rows.Next <= first {
			return &abi.Error{Code: abi.CodeInternal, Message: "the host's page does not advance"}
		}
		first = rows.Next
		guest.answers.release(start, end)
	}
}

// fill loads the cells of a row that were cut.
func (b Batch) fill(row uint64, values []abi.Value, cut []uint64) error {
	for _, name := range cut {
		column := int(name & 0xff)
		if name>>8 != row || column >= len(values) {
			continue
		}
		var whole []byte
		for {
			start := guest.answers.mark()
			part, total, err := b.Cell(row, uint32(column), uint64(len(whole)), 0)
			if err != nil {
				return err
			}
			whole = append(whole, part...)
			done := uint64(len(whole)) >= total || len(part) == 0
			guest.answers.release(start, guest.answers.mark())
			if done {
				break
			}
		}
		values[column] = abi.Value{Kind: abi.KindText, Bytes: whole}
	}
	return nil
}
