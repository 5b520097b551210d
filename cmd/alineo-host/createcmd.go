package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// makeFlags are what new sandboxes have in common, whatever they are made of.
type makeFlags struct {
	name      string
	env       []string
	resources sandbox.Resources
	lifetime  time.Duration
	allow     []string
	deny      []string
	mounts    []string
	runID     string

	volumes []opensandbox.Volume // by check
}

func (f *makeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set a variable, `NAME=VALUE`; NAME alone passes yours on; may be repeated")
	cmd.Flags().DurationVar(&f.lifetime, "lifetime", 0, "how long the server keeps it at most, 1m or more (default: [sandbox] timeout, else for ever)")
	cmd.Flags().StringArrayVar(&f.allow, "allow", nil, "let it reach this `target` and nothing else: a host, *.domain, address or CIDR; may be repeated")
	cmd.Flags().StringArrayVar(&f.deny, "deny", nil, "don't let it reach this `target`; without --allow, the rest is allowed; may be repeated")
	cmd.Flags().StringArrayVar(&f.mounts, "volume", nil, "mount a volume or a path of the server's machine, `FROM:PATH[:ro]`; may be repeated")
	cmd.Flags().StringVar(&f.runID, "run-id", "", "`id` of the run that it belongs to (default: a new one; fork: the parent's)")
}

func (f *makeFlags) addResources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resources.CPU, "cpu", "", "`cpus` that it may use, such as 2 or 500m (default 1)")
	cmd.Flags().StringVar(&f.resources.Memory, "memory", "", "memory that it may use, such as 512Mi or 4Gi (default 2Gi)")
	cmd.Flags().StringVar(&f.resources.GPU, "gpu", "", "`gpus` that it may use, a number or all, where the server has them")
}

func (f *makeFlags) addName(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "`name` in the ledger (default: from its id)")
}

// check refuses what no server takes, before anything is opened.
func (f *makeFlags) check() error {
	if f.lifetime != 0 && f.lifetime < time.Minute {
		return &exitError{code: exitUsage, err: fmt.Errorf("--lifetime %s is too short; servers keep a sandbox for 1m or longer", f.lifetime)}
	}
	var err error
	if f.volumes, err = parseVolumes(f.mounts); err != nil {
		return err
	}
	_, err = parseEnv(f.env)
	return err
}

// policy is nil when none was asked for.
func (f *makeFlags) policy() *opensandbox.NetworkPolicy {
	if len(f.allow)+len(f.deny) == 0 {
		return nil
	}
	policy := &opensandbox.NetworkPolicy{DefaultAction: opensandbox.ActionAllow}
	if len(f.allow) > 0 {
		policy.DefaultAction = opensandbox.ActionDeny
	}
	policy.Egress = append(rules(opensandbox.ActionDeny, f.deny), rules(opensandbox.ActionAllow, f.allow)...)
	return policy
}

func rules(action string, targets []string) []opensandbox.NetworkRule {
	list := make([]opensandbox.NetworkRule, len(targets))
	for i, target := range targets {
		list[i] = opensandbox.NetworkRule{Action: action, Target: target}
	}
	return list
}

func newCreate(a *app) *cobra.Command {
	var f makeFlags
	var bound boundFlags
	var server serverFlags
	var image, environment string
	cmd := &cobra.Command{
		Use:   "create [flags]",
		Short: "Make a sandbox that stays, and print its id",
		Long: `create makes a sandbox, records it in the ledger and leaves it running: exec, shell, cp, files
and the others then work with it, and "sandboxes delete" ends it. Where the server gives sandboxes
a time to live, --lifetime says how long.

With --allow and --deny it has a network policy, which "policy" can then change while it runs;
without them it has none, and its network is the server's own.

With --credential-proxy, "credentials" can give its requests what it never sees; --credential does so
from the beginning, and lets it reach the host. A value that the broker gave for a time ends when that is
over, because create has ended before: "credentials refresh" takes it again.

--volume mounts what outlives it: a path of the machine that it runs on, which the server must allow
([engine] host_paths for the embedded one), or a volume of the server's by its name. Checkpoints don't
have what is in it. --gpu, --platform and --extension are for servers that have such things. --user is
whom the image's registry knows, with the password on standard input; it is not recorded.`,
		Example: `  id=$(alineo-host create)
  alineo-host create --image alpine:3.20 --name build --cpu 2 --memory 4Gi
  alineo-host create --environment node --allow registry.npmjs.org
  alineo-host create --volume cache:/root/.cache --volume /srv/data:/data:ro
  alineo-host create --image registry.example.com/team/app:1 --user me --password-stdin <password.txt`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			specs, err := bound.parse()
			if err != nil {
				return err
			}
			policy, proxy := bound.policy(f.policy(), specs)
			if environment != "" && (image != "" || f.resources != sandbox.Resources{}) {
				return &exitError{code: exitUsage, err: errors.New("--environment has an image and resources already; leave --image, --cpu, --memory and --gpu out")}
			}
			if environment != "" && server.any() {
				return &exitError{code: exitUsage, err: errors.New("--entrypoint, --metadata, --extension, --platform and --user are for a sandbox of an image, not of an --environment")}
			}
			opts := sandbox.CreateOptions{
				Name: f.name, Image: image, Resources: f.resources, Lifetime: f.lifetime, RunID: f.runID, Volumes: f.volumes,
				NetworkPolicy: policy, CredentialProxy: proxy,
			}
			if err := server.apply(&opts); err != nil {
				return err
			}
			if err := server.login(cmd.Context(), &opts); err != nil {
				return err
			}
			return a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				values, err := a.resolveBound(ctx, h, specs)
				if err != nil {
					return err
				}
				return a.leave(ctx, h, "created", bindingTo(ctx, specs, values, func(boxes *sandbox.Client, env map[string]string) (*sandbox.Handle, error) {
					if environment != "" {
						// What goes into one that is gone is not known here.
						sb, err := boxes.Environment(environment, sandbox.EnvironmentOptions{}).Create(ctx, sandbox.SpawnOptions{
							NoBuild: true, Name: f.name, Env: env, Lifetime: f.lifetime, RunID: f.runID, Volumes: f.volumes, NetworkPolicy: policy, CredentialProxy: proxy,
						})
						return sb, a.environmentHint(err, environment)
					}
					opts.Env = env
					return boxes.Create(ctx, opts)
				}), &f)
			})
		},
	}
	f.add(cmd)
	f.addName(cmd)
	f.addResources(cmd)
	server.add(cmd)
	bound.add(cmd)
	cmd.Flags().StringVar(&image, "image", "", "image (default: [sandbox] image; \"host\" is this machine's own root)")
	cmd.Flags().StringVar(&environment, "environment", "", "make it of this `environment` (see env build)")
	_ = cmd.RegisterFlagCompletionFunc("environment", a.completeEnvironment) // the flag is there
	return cmd
}

// leave makes a sandbox, lets go of it and prints its id.
func (a *app) leave(
	ctx context.Context, h *host.Host, what string, create func(*sandbox.Client, map[string]string) (*sandbox.Handle, error), f *makeFlags,
) error {
	env, err := parseEnv(f.env)
	if err != nil {
		return err
	}
	boxes, err := a.sandboxes(ctx, h)
	if err != nil {
		return err
	}
	began := time.Now()
	a.out.progressf("making a sandbox …")
	sb, err := create(boxes, env)
	if err != nil {
		return err
	}
	a.out.progressf("it is ready after %s", time.Since(began).Round(time.Millisecond))
	return letGo(ctx, sb, a.printSandbox(what, sb))
}

// printSandbox prints the id of a sandbox that was made.
func (a *app) printSandbox(what string, sb *sandbox.Handle) error {
	if a.out.json {
		return a.out.data(struct {
			Type      string `json:"type"`
			SandboxID string `json:"sandboxId"`
			Name      string `json:"name"`
			RunID     string `json:"runId"`
		}{what, sb.ID(), sb.Name(), sb.RunID()})
	}
	a.out.notef("%s %s; it goes on running (%s sandboxes delete --keep-ledger %.8s ends it)", what, sb.Name(), a.self(), sb.ID())
	return a.out.printf("%s\n", sb.ID())
}

// bindingTo binds credentials to the sandbox that create makes, before anybody gets it.
func bindingTo(
	ctx context.Context, specs []boundSpec, values []credential.Resolved, create func(*sandbox.Client, map[string]string) (*sandbox.Handle, error),
) func(*sandbox.Client, map[string]string) (*sandbox.Handle, error) {
	return func(boxes *sandbox.Client, env map[string]string) (*sandbox.Handle, error) {
		sb, err := create(boxes, env)
		if err != nil {
			return nil, err
		}
		if err := bindAll(ctx, sb, specs, values); err != nil {
			return nil, errors.Join(err, closeSandbox(ctx, sb))
		}
		return sb, nil
	}
}
