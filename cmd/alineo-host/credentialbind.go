package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// bindingFlags say which requests get a credential, and how.
type bindingFlags struct {
	hosts, paths, methods, schemes, in, headers []string
	ports                                       []int
	prefix, header, placeholder                 string
	bearer, basic                               bool
}

// Flags that people take for the place of a value.
const (
	bearerFlag = "bearer"
	basicFlag  = "basic"
)

func (f *bindingFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "requests to this `host`, or *.domain; may be repeated")
	cmd.Flags().StringVar(&f.prefix, "path-prefix", "", "only those whose path begins with this `path`")
	cmd.Flags().StringArrayVar(&f.paths, "path", nil, "only this `path`; a star at the end is whatever follows; may be repeated")
	cmd.Flags().StringSliceVar(&f.methods, "method", nil, "only these `methods` (default: GET, POST, PUT, PATCH and DELETE)")
	cmd.Flags().StringSliceVar(&f.schemes, "scheme", nil, "https, http or both (default: https)")
	cmd.Flags().IntSliceVar(&f.ports, "port", nil, "`ports` (default: 443)")
	cmd.Flags().BoolVar(&f.bearer, bearerFlag, false, "as Authorization: Bearer VALUE")
	cmd.Flags().BoolVar(&f.basic, basicFlag, false, "as Authorization: Basic VALUE; the value is user:password in base64")
	cmd.Flags().StringVar(&f.header, "header", "", "as the header of this `name`")
	cmd.Flags().StringArrayVar(&f.headers, "headers", nil, "as several headers, each `NAME` or NAME=CREDENTIAL for another one's value; may be repeated")
	cmd.Flags().StringVar(&f.placeholder, "placeholder", "", "in place of this `text` in the request")
	cmd.Flags().StringSliceVar(&f.in, "in", nil, "where the placeholder is looked for: path, query, header, body")
}

// any reports whether something was said.
func (f *bindingFlags) any() bool {
	return len(f.hosts)+len(f.paths)+len(f.methods)+len(f.schemes)+len(f.in)+len(f.headers)+len(f.ports) > 0 ||
		f.prefix+f.header+f.placeholder != "" || f.bearer || f.basic
}

// binding makes one of the flags.
func (f *bindingFlags) binding() (credential.Binding, error) {
	b := credential.Binding{Hosts: f.hosts, Paths: f.paths, Methods: f.methods, Schemes: f.schemes, Ports: f.ports}
	if f.prefix != "" {
		b.Paths = append(slices.Clone(f.paths), strings.TrimSuffix(f.prefix, "*")+"*")
	}
	var kinds []string
	kind := func(name string, given bool, injection credential.Injection) {
		if given {
			kinds = append(kinds, name)
			b.Injection = injection
		}
	}
	kind("--bearer", f.bearer, credential.Injection{Type: credential.TypeBearer})
	kind("--basic", f.basic, credential.Injection{Type: credential.TypeBasic})
	kind("--header", f.header != "", credential.Injection{Type: credential.TypeHeader, Header: f.header})
	kind("--placeholder", f.placeholder != "" || len(f.in) > 0,
		credential.Injection{Type: credential.TypeSubstitution, Placeholder: f.placeholder, In: f.in})
	kind("--headers", len(f.headers) > 0, credential.Injection{Type: credential.TypeCustomHeaders, Headers: headerValues(f.headers)})
	if len(kinds) != 1 {
		return b, fmt.Errorf("how requests get the value is to be said in one way: --bearer, --basic, --header, --headers or --placeholder (given: %s)",
			orDash(strings.Join(kinds, ", ")))
	}
	return b, b.Validate()
}

func headerValues(list []string) []credential.HeaderValue {
	all := make([]credential.HeaderValue, len(list))
	for i, text := range list {
		all[i].Name, all[i].Credential, _ = strings.Cut(text, "=")
	}
	return all
}

// boundFlags are credentials that a new sandbox has from the beginning.
type boundFlags struct {
	specs []string
	proxy bool
}

func (f *boundFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.proxy, "credential-proxy", false, "let it have credentials, see \"credentials\"; without --allow, its network is open")
	cmd.Flags().StringArrayVar(&f.specs, "credential", nil,
		"bind a credential by this `SPEC`, such as name=github,host=api.github.com,bearer,from=env:GITHUB_TOKEN; may be repeated (see credentials --help)")
}

// boundSpec is a credential to be bound.
type boundSpec struct {
	credential.Bound
	typed typed
}

// parse reads the credentials, before anything is opened.
func (f *boundFlags) parse() ([]boundSpec, error) {
	all := make([]boundSpec, 0, len(f.specs))
	for i, text := range f.specs {
		spec, err := parseBound(text)
		if err != nil {
			// Not the text: it may hold a value that was not to be there.
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("--credential %d (name %q): %w", i+1, spec.Name, err)}
		}
		all = append(all, spec)
	}
	return all, nil
}

func parseBound(text string) (boundSpec, error) {
	var flags bindingFlags
	spec := boundSpec{typed: newTyped()}
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		n++
		key, value, has := strings.Cut(part, "=")
		switch key {
		case "name":
			spec.Name = value
		case "from":
			var err error
			spec.typed.source(value)
			if spec.Source, err = sourceOf(value); err != nil {
				return spec, fmt.Errorf("from=: %w", err)
			}
		case "host":
			flags.hosts = append(flags.hosts, value)
		case "path-prefix":
			flags.prefix = value
		case "path":
			flags.paths = append(flags.paths, value)
		case "method":
			flags.methods = append(flags.methods, value)
		case "scheme":
			flags.schemes = append(flags.schemes, value)
		case "port":
			port, err := strconv.Atoi(value)
			if err != nil {
				return spec, errors.New("what follows port= is no number")
			}
			flags.ports = append(flags.ports, port)
		case "bearer", "basic":
			if has {
				return spec, fmt.Errorf("%s stands alone: a value is never given on a command line", key)
			}
			flags.bearer, flags.basic = flags.bearer || key == "bearer", flags.basic || key == "basic"
		case "header":
			flags.header = value
		case "placeholder":
			flags.placeholder = value
		case "in":
			flags.in = append(flags.in, value)
		case "value":
			return spec, errors.New("a value is never given on a command line; from= says where it is")
		default:
			return spec, fmt.Errorf("part %d, between commas, is none of name, from, host, path-prefix, path, method, scheme, port, bearer, basic, header, placeholder and in", n)
		}
	}
	if spec.Source == nil {
		return spec, errors.New("it does not say from= where the value comes (from=env:NAME, or what the broker knows)")
	}
	spec.typed.binding(&flags)
	var err error
	if spec.Binding, err = flags.binding(); err == nil {
		err = errors.Join(credential.ValidateName(spec.Name), spec.Source.Validate())
	}
	return spec, spec.typed.clean(err)
}

// policy is a policy under which the credentials can be bound: the proxy needs one, and a rule of its
// own for each host.
func (f *boundFlags) policy(policy *opensandbox.NetworkPolicy, specs []boundSpec) (*opensandbox.NetworkPolicy, bool) {
	if !f.proxy && len(specs) == 0 {
		return policy, false
	}
	if policy == nil {
		policy = &opensandbox.NetworkPolicy{DefaultAction: opensandbox.ActionAllow}
	}
	for _, spec := range specs {
		for _, name := range spec.Binding.Hosts {
			if !slices.ContainsFunc(policy.Egress, func(r opensandbox.NetworkRule) bool { return strings.EqualFold(r.Target, name) }) {
				policy.Egress = append(policy.Egress, opensandbox.NetworkRule{Action: opensandbox.ActionAllow, Target: name})
			}
		}
	}
	return policy, true
}

// resolveBound gets the values, all of them before a sandbox is made.
func (a *app) resolveBound(ctx context.Context, h *host.Host, specs []boundSpec) ([]credential.Resolved, error) {
	values := make([]credential.Resolved, len(specs))
	for i, spec := range specs {
		var err error
		if values[i], err = a.resolve(ctx, h, spec.Name, spec.Source); err != nil {
			return nil, spec.typed.clean(err)
		}
	}
	return values, nil
}

// resolve gets a value from where it is kept.
func (a *app) resolve(ctx context.Context, h *host.Host, name string, source *credential.Source) (credential.Resolved, error) {
	if source.Type == credential.SourceEnv {
		value, ok := os.LookupEnv(source.VarName)
		if !ok {
			return credential.Resolved{}, fmt.Errorf("credential %q: %s is not set", name, source)
		}
		return credential.Resolved{Value: credential.NewSecret(value)}, nil
	}
	broker, err := h.Broker(ctx)
	if err != nil {
		return credential.Resolved{}, err
	}
	return broker.Resolve(ctx, name, *source)
}

// bindAll binds what was asked for with a sandbox.
func bindAll(ctx context.Context, sb *sandbox.Handle, specs []boundSpec, values []credential.Resolved) error {
	for i, spec := range specs {
		if err := sb.Credentials().SetResolved(ctx, spec.Name, values[i], spec.Binding, spec.Source); err != nil {
			return spec.typed.clean(err)
		}
	}
	return nil
}

// address is where a test of a binding goes: to its first host.
func address(b credential.Binding) string {
	scheme, host := "https", strings.Replace(b.Hosts[0], "*.", "www.", 1)
	if len(b.Schemes) > 0 {
		scheme = b.Schemes[0]
	}
	usual := map[string]int{"https": 443, "http": 80}[scheme]
	if len(b.Ports) > 0 && b.Ports[0] != usual {
		host = net.JoinHostPort(host, strconv.Itoa(b.Ports[0]))
	}
	path := "/"
	if len(b.Paths) > 0 {
		path = strings.TrimSuffix(b.Paths[0], "*")
	}
	return scheme + "://" + host + path
}
