package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func newCredentials(a *app) *cobra.Command {
	cmd := group("credentials", "Give a sandbox's requests what the sandbox itself never sees",
		`  alineo-host credentials set 6f1c2d3e github --host api.github.com --bearer --from env:GITHUB_TOKEN
  alineo-host credentials test 6f1c2d3e github
  alineo-host credentials list 6f1c2d3e`,
		newCredentialsSet(a), newCredentialsList(a), newCredentialsRemove(a), newCredentialsRefresh(a), newCredentialsTest(a))
	cmd.Long = `credentials works with sandboxes that were made with --credential-proxy or --credential, and needs a rule
for each host (create --allow, or "policy allow").

A credential has a name; a binding, which says what requests get it and how; and, if it is told, a
source, from which the value is had again when the sandbox is resumed or forked: env:NAME of the
environment of alineo-host, or a reference that the broker knows, such as vault:secret/ci#token or
secret:NAME of alineo.toml. Without one whoever resumes is asked.

The value is read from standard input, from --value-file, from the source, or typed without an echo; it is
never an argument, and never shown, recorded or seen in the sandbox.

What another process on this machine runs in the sandbox goes on while set, rm and refresh change its
credentials, and test tries one: that process is asked to do it and to record it.`
	return cmd
}

func newCredentialsSet(a *app) *cobra.Command {
	var f bindingFlags
	var from, file string
	cmd := &cobra.Command{
		Use:   "set ID NAME [flags]",
		Short: "Bind a value, or change what is bound",
		Long: `set binds a value to requests of a sandbox, in place of what was bound under the name. When it is done,
the next request has it. Without --host and the others, what is bound gets a new value.

The value comes from --from, when that is given and --value-file is not; else from --value-file ("-" is
standard input), from standard input when that is no terminal, or from whoever types it.

A value of which the broker says when it ends is taken again from --from in time only as long as something
has the sandbox open, such as exec or shell when set is done. set itself ends before that: take it again
with "credentials refresh".`,
		Example: `  alineo-host credentials set 6f1c2d3e github --host api.github.com --bearer --from env:GITHUB_TOKEN
  alineo-host credentials set 6f1c2d3e api --host api.example.com --path-prefix /v1 --header X-Api-Key < key.txt
  alineo-host credentials set 6f1c2d3e hook --host hooks.example.com --placeholder __TOKEN__ --in path,query`,
		ValidArgsFunction: a.completeID,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return &exitError{code: exitUsage, err: errors.New(
					"there are more arguments than ID and NAME; a value is never one of them (other users of this machine could see it): give it on standard input")}
			}
			return usage(cobra.ExactArgs(2))(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var binding *credential.Binding
			values := newTyped()
			values.source(from)
			values.binding(&f)
			defer func() { err = values.clean(err) }()
			if f.any() {
				made, err := f.binding()
				if err != nil {
					return &exitError{code: exitUsage, err: err}
				}
				binding = &made
			}
			source, err := sourceOf(from)
			if err != nil {
				return &exitError{code: exitUsage, err: fmt.Errorf("--from: %w", err)}
			}
			return a.setCredential(cmd.Context(), args[0], args[1], binding, source, file)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "`source` of the value, env:NAME or what the broker knows, also for resume and fork")
	cmd.Flags().StringVar(&file, "value-file", "", "read the value from this `file`; - is standard input")
	return cmd
}

func (a *app) setCredential(
	ctx context.Context, id, name string, binding *credential.Binding, source *credential.Source, file string,
) error {
	var value credential.Secret
	if source == nil || file != "" {
		var err error
		if value, err = readSecret(ctx, file, fmt.Sprintf("value of credential %q: ", name)); err != nil {
			return err
		}
	}
	return a.change(ctx, id, func(ctx context.Context, sb *changed) error {
		resolved := credential.Resolved{Value: value}
		var err error
		if !value.IsSet() {
			if resolved, err = a.resolve(ctx, sb.host, name, source); err != nil {
				return err
			}
		}
		if binding == nil {
			err = sb.PatchCredential(ctx, name, sandbox.CredentialPatch{Value: &resolved.Value, Expires: resolved.Expires, Source: source})
			if errors.Is(err, credential.ErrNotFound) {
				return fmt.Errorf("%w (say with --host and --bearer, --header or another what it is to be bound to)", err)
			}
		} else {
			err = sb.SetCredential(ctx, name, resolved, *binding, source)
		}
		if err != nil {
			return a.credentialHint(err, id)
		}
		a.out.notef("bound %s", name)
		return nil
	})
}

// credentialHint says what a sandbox needs.
func (a *app) credentialHint(err error, id string) error {
	switch {
	case errors.Is(err, credential.ErrNoProxy):
		return fmt.Errorf("%w (make one with %s create --credential-proxy)", err, a.self())
	case errors.Is(err, credential.ErrInvalid) && strings.Contains(err.Error(), "allow"):
		return fmt.Errorf("%w\n(a credential's host needs a rule: %s policy allow %s HOST)", err, a.self(), id)
	}
	return err
}

// unresolvedHint says how a value can be given to those who resume and fork.
func unresolvedHint(err error) error {
	if errors.Is(err, credential.ErrUnresolved) {
		return fmt.Errorf("%w\n(set the variable that it comes from, let the broker know the reference, or run this on a terminal to be asked)", err)
	}
	return err
}

func newCredentialsList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "list ID",
		Short:             "Show what is bound, without values",
		Example:           "  alineo-host credentials list 6f1c2d3e\n  alineo-host credentials list --json 6f1c2d3e",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
				list, err := sb.Credentials().ListBindings(ctx)
				if err != nil {
					return a.credentialHint(err, args[0])
				}
				if a.out.json {
					return a.out.data(list)
				}
				rows := make([][]string, len(list))
				for i, c := range list {
					source := "-"
					if c.Source != nil {
						source = c.Source.String()
					}
					rows[i] = []string{c.Name, bindingText(c.Binding), injectionText(c.Binding.Injection), stateText(c), source}
				}
				return a.out.table([]string{"NAME", "REQUESTS", "AS", "STATE", "SOURCE"}, rows)
			})
		},
	}
}

func bindingText(b credential.Binding) string {
	parts := b.Hosts
	for _, more := range [...][]string{b.Paths, b.Methods, b.Schemes} {
		if len(more) > 0 {
			parts = append(slices.Clip(parts), strings.Join(more, ","))
		}
	}
	for _, port := range b.Ports {
		parts = append(slices.Clip(parts), ":"+strconv.Itoa(port))
	}
	return strings.Join(parts, " ")
}

// injectionText shows what a request gets, with the value left out.
func injectionText(i credential.Injection) string {
	switch i.Type {
	case credential.TypeHeader:
		return i.Header + ": " + masked
	case credential.TypeBearer:
		return "Authorization: Bearer " + masked
	case credential.TypeBasic:
		return "Authorization: Basic " + masked
	case credential.TypeSubstitution:
		return fmt.Sprintf("%s in place of %q in %s", masked, i.Placeholder, strings.Join(i.In, ", "))
	case credential.TypeCustomHeaders:
		var all []string
		for _, h := range i.Headers {
			text := h.Name + ": " + masked
			if h.Credential != "" {
				text += " of " + h.Credential
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	return i.Type
}

// masked stands for a value.
const masked = "********"

func stateText(c sandbox.CredentialStatus) string {
	switch {
	case c.Live && c.Recorded:
		return "bound"
	case c.Live:
		return "bound, not recorded"
	}
	return "recorded, not bound"
}

func newCredentialsRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "rm ID NAME…",
		Aliases:           []string{"remove"},
		Short:             "End credentials",
		Example:           "  alineo-host credentials rm 6f1c2d3e github",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachCredential(cmd.Context(), args, "removed", func(ctx context.Context, sb *changed, name string) error {
				if err := a.boundTo(ctx, sb.look, name); err != nil {
					return err
				}
				return sb.RemoveCredential(ctx, name)
			})
		},
	}
}

// boundTo tells that a sandbox has no credential of a name, neither in its ledger nor where it is used. A
// broker that can't say what there is lets any name pass.
func (a *app) boundTo(ctx context.Context, sb *sandbox.Handle, name string) error {
	list, err := sb.Credentials().ListBindings(ctx)
	switch {
	case errors.Is(err, credential.ErrUnsupported):
		return nil
	case err != nil:
		return err
	case !slices.ContainsFunc(list, func(c sandbox.CredentialStatus) bool { return c.Name == name }):
		return a.unbound(name, sb.ID())
	}
	return nil
}

// unbound is the error about a credential that isn't there.
func (a *app) unbound(name, id string) error {
	return fmt.Errorf("credential %q: %w (%s credentials list %.8s shows those that are bound)", name, credential.ErrNotFound, a.self(), id)
}

func newCredentialsRefresh(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "refresh ID NAME…",
		Short: "Take values from their sources again",
		Long: `refresh takes values from their sources again, as after they were changed there, and before one ends that
the broker gave for a time: create, fork and credentials set end before they could do that.`,
		Example:           "  alineo-host credentials refresh 6f1c2d3e github",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachCredential(cmd.Context(), args, "refreshed", func(ctx context.Context, sb *changed, name string) error {
				return sb.RefreshCredential(ctx, name, a.askCredential)
			})
		},
	}
}

// eachCredential does the same to several, and goes on when one fails.
func (a *app) eachCredential(ctx context.Context, args []string, what string, do func(context.Context, *changed, string) error) error {
	return a.change(ctx, args[0], func(ctx context.Context, sb *changed) error {
		var problems []error
		for _, name := range args[1:] {
			if err := do(ctx, sb, name); err != nil {
				problems = append(problems, unresolvedHint(a.credentialHint(err, args[0])))
				continue
			}
			a.out.notef("%s %s", what, name)
		}
		return errors.Join(problems...)
	})
}

func newCredentialsTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "test ID NAME [URL]",
		Short: "Make a request from inside the sandbox, and show what it got",
		Long: `test runs curl, wget or Python in the sandbox for a URL that the credential is bound to, by default its
first host and path, and prints what the server answered and what the request had been given, without
the value. The embedded engine tells that; of another server's sandbox it is what the binding says. It is
recorded that the test was made, not what it printed. It ends with 0 when the server answered with a status below 400
and the credential was in the request. One for a placeholder has to be in the URL.`,
		Example:           "  alineo-host credentials test 6f1c2d3e github https://api.github.com/user",
		ValidArgsFunction: a.completeID,
		Args:              usage(cobra.RangeArgs(2, 3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.change(cmd.Context(), args[0], func(ctx context.Context, sb *changed) error {
				return a.testCredential(ctx, sb, args[0], args[1], args[2:])
			})
		},
	}
}
