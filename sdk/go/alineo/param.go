package alineo

import "github.com/alineo-labs/alineo-host/abi"

// Null binds NULL.
func Null() abi.SQLParam { return abi.SQLParam{} }

// Int binds an integer.
func Int(v int64) abi.SQLParam { return abi.SQLParam{Value: abi.Int(v)} }

// Real binds a floating-point number.
func Real(v float64) abi.SQLParam { return abi.SQLParam{Value: abi.Real(v)} }

// Bool binds a boolean.
func Bool(v bool) abi.SQLParam { return abi.SQLParam{Value: abi.Bool(v)} }

// Text binds a string, which must not change until the program has run.
func Text(v string) abi.SQLParam { return abi.SQLParam{Value: abi.Text(v)} }

// JSON binds a JSON document, which must not change until the program has run.
func JSON(v []byte) abi.SQLParam { return abi.SQLParam{Value: abi.JSON(v)} }

// Blob binds bytes, which must not change until the program has run.
func Blob(v []byte) abi.SQLParam { return abi.SQLParam{Value: abi.Blob(v)} }

// Column binds a column of the step's batch.
func Column(column uint32) abi.SQLParam {
	return abi.SQLParam{Kind: abi.ParamColumn, Column: column}
}

// Columns binds several columns of the step's batch, in this order.
func Columns(columns ...uint32) []abi.SQLParam {
	params := make([]abi.SQLParam, len(columns))
	for i, c := range columns {
		params[i] = Column(c)
	}
	return params
}

// Result binds a cell of the first row that an earlier step of the program kept.
func Result(step int, column uint32) abi.SQLParam {
	return abi.SQLParam{Kind: abi.ParamResult, Step: uint32(step), Column: column}
}
