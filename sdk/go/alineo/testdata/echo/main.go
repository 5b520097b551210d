// Command echo is the smallest guest: it describes itself and answers echo. The rest of it exists for
// the SDK's test, which runs it as real WebAssembly.
package main

import (
	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

func main() {}

func init() {
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{Name: "echo", Version: "1.0.0"},
		Configure: func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
			alineo.Log(alineo.Info, "configured with "+req.Config)
			return nil, nil
		},
		Health: func() (string, error) { panic("not feeling well") },
		Close:  ask,
	})
}

// ask runs two programs and checks that the first one's rows outlive the second.
func ask() error {
	db := alineo.SQL("notes")
	first, err := db.Read(alineo.Query("SELECT 1", alineo.Int(1)))
	if err != nil {
		return err
	}
	second, err := db.Read(alineo.Query("SELECT 2", alineo.Int(2)))
	if err != nil {
		return err
	}
	var a, b abi.Value
	if _, err := alineo.FirstRow(first.Steps[0].Rows, &a); err != nil {
		return err
	}
	if _, err := alineo.FirstRow(second.Steps[0].Rows, &b); err != nil {
		return err
	}
	if a.Int != 1 || b.Int != 2 {
		return &abi.Error{Code: abi.CodeInternal, Message: "the rows of the first program are gone"}
	}
	_, err = db.Write(alineo.Statement("DELETE"))
	return err
}
