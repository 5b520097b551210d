//go:build unix

package guest

import (
	"context"
	"net"
	"os"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// ownJupyter is where images that bring Jupyter have it. Its port is theirs.
const ownJupyter = "/opt/code-interpreter"

// answerForJupyter takes connections to the port where Jupyter listens in the
// original's images, and closes them: official clients connect to it, inside
// the sandbox, to see that code can be run. It can, without Jupyter. The
// port being taken is no failure; whoever has it answers.
func (g *guest) answerForJupyter() {
	if g.config.Jail.Level != jail.Namespaces {
		return // the port would be the machine's
	}
	if _, err := os.Stat(ownJupyter); err == nil {
		return
	}
	port := g.config.Env["JUPYTER_PORT"]
	if port == "" {
		port = "44771"
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
}
