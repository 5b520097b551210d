package credential

import (
	"fmt"
	"io"
	"log"

	"github.com/hashicorp/go-hclog"
)

// Logger returns a logger that takes the values out of messages and of what stands beside them.
func (r *Redactor) Logger(to hclog.Logger) hclog.Logger { return &cleanLogger{to, r} }

// cleanLogger is a Logger whose lines pass through a redactor. What it embeds answers the rest.
type cleanLogger struct {
	hclog.Logger
	r *Redactor
}

func (l *cleanLogger) Log(level hclog.Level, msg string, args ...any) {
	if l.r.Active() {
		msg, args = l.r.Text(msg), l.clean(args)
	}
	l.Logger.Log(level, msg, args...)
}

func (l *cleanLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *cleanLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *cleanLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *cleanLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *cleanLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *cleanLogger) With(args ...any) hclog.Logger {
	return &cleanLogger{l.Logger.With(l.clean(args)...), l.r}
}

func (l *cleanLogger) Named(name string) hclog.Logger {
	return &cleanLogger{l.Logger.Named(l.r.Text(name)), l.r}
}

func (l *cleanLogger) ResetNamed(name string) hclog.Logger {
	return &cleanLogger{l.Logger.ResetNamed(l.r.Text(name)), l.r}
}

func (l *cleanLogger) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(opts), "", 0)
}

func (l *cleanLogger) StandardWriter(opts *hclog.StandardLoggerOptions) io.Writer {
	return l.r.Writer(l.Logger.StandardWriter(opts))
}

// clean returns arguments of a line without the values.
func (l *cleanLogger) clean(args []any) []any {
	if !l.r.Active() {
		return args
	}
	out := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			out[i] = l.r.Text(v)
		case error:
			out[i] = l.r.Error(v)
		default:
			out[i] = arg
			if text := fmt.Sprintf("%+v", arg); l.r.Has(text) {
				out[i] = l.r.Text(text)
			}
		}
	}
	return out
}
