package capability

import (
	"context"

	"github.com/alineo-labs/alineo-host/abi"
)

// sqlExec is the operation sql.exec.
func (s *Set) sqlExec(ctx context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	program, ok := s.programs.Get().(*abi.SQLExec)
	if !ok {
		program = new(abi.SQLExec)
	}
	defer s.recycle(program)
	if err := program.Unmarshal(req); err != nil {
		return dst, malformed(abi.OpSQLExec, err)
	}
	db, ok := s.databases[program.Database]
	if !ok {
		return dst, failf(abi.CodeDenied, "database %q is not granted to plugin %q; [plugins.%s.sql.%s] in alineo.toml grants it",
			program.Database, s.plugin, key(s.plugin), key(program.Database))
	}
	reply, failure := db.Exec(ctx, program, call)
	if failure != nil {
		return dst, failure
	}
	return reply.AppendTo(dst), nil
}

// recycle keeps a program's slices for the next one, without the views of guest memory in them.
func (s *Set) recycle(program *abi.SQLExec) {
	steps := program.Steps[:cap(program.Steps)]
	for i := range steps {
		params := steps[i].Params[:cap(steps[i].Params)]
		clear(params)
		steps[i] = abi.SQLStep{Params: params[:0]}
	}
	*program = abi.SQLExec{Steps: steps[:0]}
	s.programs.Put(program)
}
