package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// serverFlags are what only a sandbox that is made of an image can be given, and what not all servers have.
type serverFlags struct {
	entrypoint, metadata, extensions []string
	platform, user                   string
	passwordStdin                    bool
}

func (f *serverFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.entrypoint, "entrypoint", nil, "`WORD` of what the sandbox itself runs, for each of its words (default: tail -f /dev/null)")
	cmd.Flags().StringArrayVar(&f.metadata, "metadata", nil, "label it on the server, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&f.extensions, "extension", nil, "what only this server knows, `NAME=VALUE`, such as poolRef; may be repeated")
	cmd.Flags().StringVar(&f.platform, "platform", "", "`OS/ARCH` that it runs on, such as linux/arm64, where the server has several")
	cmd.Flags().StringVar(&f.user, "user", "", "`user` at the image's registry, where the server fetches it")
	cmd.Flags().BoolVar(&f.passwordStdin, "password-stdin", false, "read the user's password from standard input")
}

func (f *serverFlags) any() bool {
	return len(f.entrypoint)+len(f.metadata)+len(f.extensions) > 0 || f.platform+f.user != "" || f.passwordStdin
}

// apply puts them into options.
func (f *serverFlags) apply(opts *sandbox.CreateOptions) error {
	var err error
	if opts.Metadata, err = parsePairs("--metadata", f.metadata); err != nil {
		return err
	}
	if opts.Extensions, err = parsePairs("--extension", f.extensions); err != nil {
		return err
	}
	if f.platform != "" {
		os, arch, ok := strings.Cut(f.platform, "/")
		if !ok || os == "" || arch == "" || strings.Contains(arch, "/") {
			return &exitError{code: exitUsage, err: fmt.Errorf("--platform %q is not OS/ARCH, such as linux/arm64", f.platform)}
		}
		opts.Platform = &opensandbox.Platform{OS: os, Arch: arch}
	}
	if f.passwordStdin != (f.user != "") {
		return &exitError{code: exitUsage, err: errors.New("--user and --password-stdin belong together")}
	}
	opts.Entrypoint = f.entrypoint
	return nil
}

// login reads the password.
func (f *serverFlags) login(ctx context.Context, opts *sandbox.CreateOptions) error {
	if f.user == "" {
		return nil
	}
	password, err := readSecret(ctx, "-", "")
	if err != nil {
		return err
	}
	opts.ImageAuth = &sandbox.ImageAuth{Username: f.user, Password: password.Reveal()}
	return nil
}

func parsePairs(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	found := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("%s %q is not NAME=VALUE", flag, pair)}
		}
		found[name] = value
	}
	return found, nil
}

// parseVolumes reads mounts as people write them for containers: a path of the server's machine, or the name of a
// volume of the server's, and where it is in the sandbox.
func parseVolumes(texts []string) ([]opensandbox.Volume, error) {
	volumes := make([]opensandbox.Volume, len(texts))
	for i, text := range texts {
		rest, readOnly := strings.CutSuffix(text, ":ro")
		from, to, ok := strings.Cut(rest, ":")
		if !ok || from == "" || !strings.HasPrefix(to, "/") || strings.Contains(to, ":") {
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("--volume %q is not FROM:PATH or FROM:PATH:ro, such as data:/data or /srv/data:/data:ro", text)}
		}
		v := opensandbox.Volume{Name: fmt.Sprintf("volume-%d", i+1), MountPath: to, ReadOnly: readOnly}
		if strings.HasPrefix(from, "/") {
			v.Host = &opensandbox.HostVolume{Path: from}
		} else {
			v.PVC = &opensandbox.PVCVolume{ClaimName: from}
		}
		volumes[i] = v
	}
	return volumes, nil
}
