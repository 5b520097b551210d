package intercept

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// opaqueError tells that an answer can't be looked into.
type opaqueError struct{ encoding string }

func (e *opaqueError) Error() string {
	return fmt.Sprintf("the answer's encoding %q can't be looked into", e.encoding)
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// guarded takes secrets out of the heads of answers: of those before the last one too, which the relay
// passes on by itself.
type guarded struct {
	http.ResponseWriter
	proxy *Proxy
}

func (g *guarded) WriteHeader(code int) {
	g.proxy.redactor().headers(g.Header())
	g.ResponseWriter.WriteHeader(code)
}

// Unwrap lets the server's abilities through.
func (g *guarded) Unwrap() http.ResponseWriter { return g.ResponseWriter }

// headers takes secrets out of a head, names included.
func (r *Redactor) headers(h http.Header) {
	for name, values := range h {
		if clean := r.Text(name); clean != name {
			delete(h, name)
			continue
		}
		for i, v := range values {
			values[i] = r.Text(v)
		}
	}
}

// modify makes an answer fit for the sandbox.
func (p *Proxy) modify(resp *http.Response) error {
	p.redactor().headers(resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if both, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &upgraded{newReader(both, p.redactor, nil), both}
		}
		if plain := exchangeOf(resp.Request.Context()).session.plain; plain != nil {
			plain.release()
		}
		return nil
	}
	if err := decode(resp); err != nil {
		return err
	}
	resp.Body = newReader(resp.Body, p.redactor, func() { p.redactor().headers(resp.Trailer) })
	return nil
}

// upgraded is a connection that has become something else.
type upgraded struct {
	*reader
	to io.Writer
}

func (u *upgraded) Write(b []byte) (int, error) { return u.to.Write(b) } //nolint:wrapcheck // it stands for it

// decode undoes the encoding of an answer that was sent although none was asked for.
func decode(resp *http.Response) error {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	if encoding == "" || encoding == "identity" || resp.Request.Method == http.MethodHead ||
		resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	var open func(io.Reader) (io.Reader, error)
	switch encoding {
	case "gzip", "x-gzip":
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		open = func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) }
	default:
		return &opaqueError{encoding}
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = &decoder{raw: resp.Body, open: open}
	return nil
}

// decoder decodes a body. It begins when it is read, for a beginning may be long in coming.
type decoder struct {
	raw  io.ReadCloser
	open func(io.Reader) (io.Reader, error)
	from io.Reader
}

func (d *decoder) Read(b []byte) (int, error) {
	if d.from == nil {
		buffered := bufio.NewReader(d.raw)
		if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
			return 0, io.EOF // nothing is encoded
		}
		from, err := d.open(buffered)
		if err != nil {
			return 0, fmt.Errorf("decoding an answer: %w", err)
		}
		d.from = from
	}
	return d.from.Read(b) //nolint:wrapcheck // it stands for it
}

func (d *decoder) Close() error { return d.raw.Close() } //nolint:wrapcheck // it stands for it
