package capability

import (
	"context"

	"github.com/alineo-labs/alineo-host/abi"
)

// sqlExec is the operation sql.exec.
func (s *Set) sqlExec(ctx context.Context, call *Call, req, dst []byte) ([]byte, *abi.Error) {
	program, release, err := s.programs.decode(req)
	if err != nil {
		return dst, malformed(abi.OpSQLExec, err)
	}
	defer release()
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
