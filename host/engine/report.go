package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/reexec"
)

// Report is what this machine allows.
type Report struct {
	// Level is the best isolation that is possible: one of the Isolation
	// constants.
	Level string
	// Findings tell it feature by feature.
	Findings []Finding
}

// Finding is what was found about one feature.
type Finding struct {
	// Feature is a short name: "user namespaces", "overlay" …
	Feature string
	// OK tells that it is there.
	OK bool
	// Reason says what was found, in a sentence.
	Reason string
	// Fix says what to do about it; "" when there is nothing to do.
	Fix string
}

// Probe finds out what this machine allows by trying it in opts.DataDir (made
// if need be), without opening an engine there. It leaves nothing behind.
func Probe(ctx context.Context, opts Options) (Report, error) {
	opts, err := opts.resolve()
	if err != nil {
		return Report{}, fmt.Errorf("probing: %w", err)
	}
	program, err := reexec.Open(opts.InitPath)
	if err != nil {
		return Report{}, fmt.Errorf("probing: %w", err)
	}
	defer func() { _ = program.Close() }()
	a := explore(ctx, opts, program)
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("probing: %w", err)
	}
	return Report{Level: string(a.level), Findings: a.findings(opts, program)}, nil
}

func (a *abilities) findings(opts Options, program *reexec.Image) []Finding {
	if runtime.GOOS != "linux" {
		return []Finding{{
			Feature: "namespaces", Reason: "this system is " + runtime.GOOS + ": sandboxes are process groups in a working directory",
			Fix: "run on Linux, or set [engine] allow_reduced = true to accept no isolation",
		}}
	}
	out := []Finding{a.placed(opts)}
	if a.placement == "" {
		out = append(out, a.sandboxed(), a.usersApart())
		if a.level == jail.Namespaces {
			out = append(out, a.wayOut())
		}
	}
	return append(out, a.secondWall(), a.filters(), a.sealed(program), a.limited(), measured(opts))
}

func (a *abilities) placed(opts Options) Finding {
	f := Finding{Feature: "data directory", OK: a.placement == "", Reason: opts.DataDir}
	if !f.OK {
		f.Reason, f.Fix = a.placement, "set [engine] data to a directory below a home directory"
	}
	return f
}

// sandboxed tells whether a sandbox could be entered, and what hindered it.
func (a *abilities) sandboxed() Finding {
	f := Finding{Feature: "overlay", OK: a.level == jail.Namespaces, Reason: "a sandbox was entered and left again"}
	if f.OK {
		return f
	}
	f.Feature, f.Reason = "namespaces", a.why
	switch {
	case strings.Contains(a.why, "starting the sandbox's init"):
		f.Feature = "user namespaces"
		f.Fix = "allow them: sysctl user.max_user_namespaces=15000, and where they exist kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0; in a container: --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
	case strings.Contains(a.why, "overlay") && len(a.covered) > 0:
		f.Feature = "overlay"
		f.Reason = "in a user namespace no directory can be shown that has mounts below it: " + strings.Join(a.covered, ", ") + " (" + a.why + ")"
		f.Fix = "unmount them, or run the engine where they are not (unshare --mount, umount, then the engine); as root, a sandbox without a user namespace would do"
	case strings.Contains(a.why, "overlay"):
		f.Feature = "overlay"
		f.Fix = "put [engine] data on a local file system such as ext4, xfs or btrfs (not an overlay, not NFS); an ordinary user needs Linux 5.11 or later"
	case strings.Contains(a.why, "mounting proc"), strings.Contains(a.why, "mounting sysfs"):
		f.Feature = "proc"
		f.Fix = "the engine runs in a container that hides parts of /proc: give it --security-opt systempaths=unconfined"
	case strings.Contains(a.why, "private"), strings.Contains(a.why, "binding"):
		f.Fix = "the engine runs where mounts are forbidden: allow them to this program"
	}
	return f
}

func (a *abilities) usersApart() Finding {
	f := Finding{Feature: "user namespaces", OK: a.userNamespace}
	switch {
	case a.userNamespace && os.Geteuid() == 0:
		f.Reason = "sandboxes have one, with root as the machine's root without its powers outside"
	case a.userNamespace:
		f.Reason = "sandboxes have one, with this user as their root: only its own files change owner, and commands run as root only"
	case a.noUserNS != "":
		f.Reason = a.noUserNS
	default:
		f.Reason = "turned off by the options"
	}
	return f
}

func (a *abilities) wayOut() Finding {
	if a.noEgress == "" {
		return Finding{Feature: "egress", OK: true, Reason: "sandboxes reach the outside through the engine, by their policies"}
	}
	return Finding{
		Feature: "egress", Reason: "sandboxes have loopback only: " + a.noEgress,
		Fix: "load the kernel modules nf_tables, nft_redir and nft_chain_nat",
	}
}

func (a *abilities) secondWall() Finding {
	if a.landlock >= jail.MinLandlock {
		return Finding{Feature: "landlock", OK: true, Reason: fmt.Sprintf("version %d", a.landlock)}
	}
	return Finding{
		Feature: "landlock", Reason: "the kernel has none, or an old one: namespaces stand alone, and reduced isolation is impossible",
		Fix: "use Linux 5.19 or later with landlock in the lsm= list",
	}
}

func (a *abilities) filters() Finding {
	if a.seccomp {
		return Finding{Feature: "seccomp", OK: true, Reason: "system calls are filtered"}
	}
	return Finding{Feature: "seccomp", Reason: "the kernel has no system call filters", Fix: "use a kernel with CONFIG_SECCOMP_FILTER"}
}

func (a *abilities) sealed(program *reexec.Image) Finding {
	if program.Sealed {
		return Finding{Feature: "memfd", OK: true, Reason: "sandboxes run a sealed copy of this program"}
	}
	return Finding{Feature: "memfd", Reason: "sandboxes run this program's own file: " + program.Reason, Fix: "set sysctl vm.memfd_noexec=0"}
}

// limited tells how firm the limits on memory, processor and processes are.
func (a *abilities) limited() Finding {
	f := Finding{Feature: "cgroups", OK: a.groups.Version() > 0 && len(a.soft) == 0}
	switch {
	case f.OK:
		f.Reason = fmt.Sprintf("version %d", a.groups.Version())
	case a.groups.Version() > 0:
		f.Reason = fmt.Sprintf("version %d, but some limits are soft: %s", a.groups.Version(), strings.Join(a.soft, "; "))
	default:
		f.Reason = "limits are soft (rlimits for each process): " + strings.Join(a.soft, "; ")
	}
	if !f.OK {
		f.Fix = "run as root, or in a systemd unit with Delegate=yes (systemd-run --user --scope -p Delegate=yes …)"
	}
	return f
}

// measured tells that no file system bounds what sandboxes write.
func measured(opts Options) Finding {
	most := opts.disk()
	if most.Bytes == 0 && most.Files == 0 {
		return Finding{Feature: "disk", OK: true, Reason: "nothing limits what a sandbox's files take"}
	}
	var limits []string
	if most.Bytes > 0 {
		limits = append(limits, fmt.Sprintf("%d MiB", most.Bytes>>20))
	}
	if most.Files > 0 {
		limits = append(limits, fmt.Sprintf("%d files", most.Files))
	}
	return Finding{
		Feature: "disk", OK: true,
		Reason: "a sandbox ends when it has more than " + strings.Join(limits, " or ") + "; the limit is soft, for files are measured, at the latest every half minute",
	}
}
