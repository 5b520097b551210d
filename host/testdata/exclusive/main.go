// Command exclusive is a guest that owns a file as long as it lives: a second one beside it can't start. It
// keeps instances, in a file of one line each, and tells in each line of its own which life it is of.
package main

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

const (
	lock = "/data/lock"
	file = "/data/instances"
)

func main() {}

func init() {
	alineo.Serve(alineo.Plugin{
		Manifest: abi.Manifest{
			Name: "exclusive", Version: "1.0.0", State: abi.StateExclusive,
			Capabilities: []abi.Want{{Name: "files", Resource: "/data", Reason: "instances are kept there"}},
		},
		Configure: func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
			if strings.Contains(req.Config, "refuse") {
				return &abi.ConfigureReply{Diagnostics: []abi.Diagnostic{{Key: "refuse", Message: "as you wish"}}}, nil
			}
			f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, errors.New("another one has the lock: " + err.Error())
			}
			return nil, f.Close()
		},
		Close:     func() error { return os.Remove(lock) },
		Instances: instances{},
	})
}

type instances struct{}

func (instances) Get(req *abi.KeyRequest) (*abi.RowsReply, error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	begin := []byte("\n" + req.Key + "\t")
	at := bytes.LastIndex(text, begin)
	if at < 0 {
		return &abi.RowsReply{}, nil
	}
	thread, _, _ := bytes.Cut(text[at+len(begin):], []byte("\n"))
	table := abi.AppendTableHeader(nil, 1, abi.InstanceColumns)
	for _, v := range []abi.Value{
		abi.Text(req.Key), abi.Text("test"), abi.Text("box"), abi.Null, abi.Text(string(thread)), abi.Null, abi.Int(1),
	} {
		table = abi.AppendValue(table, v)
	}
	return &abi.RowsReply{Table: table}, nil
}

func (instances) Put(req *abi.Instance) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + req.Key + "\t" + req.ThreadID + "\n")
	return errors.Join(err, f.Close())
}

func (instances) Delete(*abi.KeyRequest) error { return nil }

func (instances) PutIf(*abi.InstancePutIf) (*abi.Applied, error) { return &abi.Applied{}, nil }

func (instances) DeleteIf(*abi.InstanceDeleteIf) (*abi.Applied, error) { return &abi.Applied{}, nil }

func (instances) List(*abi.InstanceListRequest) (*abi.RowsReply, error) { return &abi.RowsReply{}, nil }
