package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/guest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trust"
)

// searchPath is PATH in a sandbox, unless the request has one.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// create makes a sandbox and returns when it runs.
func (m *Manager) create(ctx context.Context, q createRequest) (_ *sandbox, err error) {
	started := time.Now()
	m.spares.ahead()
	rec := record{
		Image: q.image, SnapshotID: q.snapshotID, Entrypoint: q.entrypoint, Metadata: q.metadata,
		CreatedAt: started.UTC().Truncate(time.Microsecond), Level: m.opts.Level, Limits: q.limits, Disk: m.disk(q.disk), Platform: q.platform, RenewBy: q.renewBy,
	}
	if q.timeout > 0 {
		rec.ExpiresAt = rec.CreatedAt.Add(q.timeout)
	}
	claimed, err := m.claims.hold(q.volumes)
	if err != nil {
		return nil, err
	}
	defer func() { m.claims.release(claimed, err == nil) }()
	rec.Claims = claimed.names
	volumes, err := m.openVolumes(q.volumes)
	if err != nil {
		return nil, err
	}
	network, err := m.network(&rec, q)
	if err != nil {
		return nil, err
	}
	release, err := m.stack(ctx, &rec, q)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := m.start(ctx, &rec, q, claimed, volumes, network)
	if err != nil {
		if entry, ok := errors.AsType[*shim.EntryError](err); ok {
			return nil, problem(http.StatusInternalServerError, codeStartFailed, "Failed to start sandbox: %s", entry.Message)
		}
		return nil, problem(http.StatusInternalServerError, codeStartFailed, "Failed to start sandbox: %v", err)
	}
	m.log.Info("sandbox created", "op", "create", "sandbox", rec.ID, "dur_ms", time.Since(started).Milliseconds())
	return s, nil
}

// stack chooses the layers below the sandbox. Until release is called the
// snapshots among them can't be deleted; afterwards the sandbox keeps them.
func (m *Manager) stack(ctx context.Context, rec *record, q createRequest) (release func(), err error) {
	if q.snapshotID != "" {
		release, err = m.useSnapshot(rec, q.snapshotID)
	} else {
		release, err = m.useImage(ctx, rec, q)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !m.isolated():
	case rec.Root != nil:
		rec.Base, err = m.base.forImages()
	default:
		rec.Base, err = m.base.current()
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// start makes the sandbox's directory and its processes.
func (m *Manager) start(ctx context.Context, rec *record, q createRequest, claimed *held, volumes []jail.Volume, network *shim.Network) (*sandbox, error) {
	place, ahead, err := m.spares.take(ctx)
	defer m.spares.done()
	if err != nil {
		return nil, err
	}
	s, err := m.startIn(ctx, place, rec, q, claimed, volumes, network)
	if ahead && errors.Is(err, shim.ErrLost) {
		// It was killed meanwhile, which is seen a moment late.
		if place, err = m.begin(ctx); err != nil {
			return nil, err
		}
		return m.startIn(ctx, place, rec, q, claimed, volumes, network)
	}
	return s, err
}

// startIn makes a sandbox of what has begun.
func (m *Manager) startIn(ctx context.Context, place *site, rec *record, q createRequest, claimed *held, volumes []jail.Volume, network *shim.Network) (*sandbox, error) {
	var tops []string
	if rec.Root == nil {
		tops = layer.Tops()
	}
	rec.ID, rec.Group = place.id, place.group
	err := m.claims.own(claimed, rec.ID)
	if err == nil {
		err = m.furnish(ctx, place, rec)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making sandbox %s: %w", rec.ID, err), place.remove(ctx))
	}
	s := m.newSandbox(*rec)
	config := m.shimConfig(rec, tops, q)
	config.Guest.Jail.Volumes, config.Network = volumes, network
	if err := place.begun.Start(ctx, config); err != nil {
		return nil, errors.Join(err, m.removeDead(context.WithoutCancel(ctx), rec.ID))
	}
	m.mu.Lock()
	m.sandboxes[rec.ID] = s
	m.mu.Unlock()
	m.watch(s)
	return s, nil
}

// furnish makes of what has begun a sandbox that another engine would find: it fills the directory, and
// only then gives it its name.
func (m *Manager) furnish(ctx context.Context, place *site, rec *record) error {
	if err := m.fill(ctx, place.dir, rec); err != nil {
		return err
	}
	if err := m.opts.Groups.Limit(rec.Group, rec.Limits); err != nil {
		return err
	}
	if err := writeRecord(filepath.Join(place.dir, sandboxRecord), rec); err != nil {
		return err
	}
	return os.Rename(place.dir, m.path(sandboxesDir, rec.ID))
}

// fill makes what a sandbox of our level works in, beyond what it began with.
func (m *Manager) fill(ctx context.Context, dir string, rec *record) error {
	if m.isolated() {
		if rec.Root == nil {
			return nil
		}
		// It was begun as a sandbox of the machine's root.
		for _, name := range layer.Tops() {
			if err := errors.Join(os.Remove(filepath.Join(dir, layerDir, name)), os.Remove(filepath.Join(dir, "work", name))); err != nil {
				return err
			}
		}
		return nil
	}
	// Without overlays a snapshot's files are copied, oldest first.
	for _, v := range slices.Backward(rec.Snapshots) {
		if err := layer.Apply(ctx, filepath.Join(dir, layerDir), m.path(snapshotsDir, v, layerDir)); err != nil {
			return err
		}
	}
	for _, d := range []string{jail.WorkDir, "root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, layerDir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// makeLayers makes what the overlays of a sandbox of the machine's root need.
func (m *Manager) makeLayers(dir string) error {
	for _, d := range []string{layerDir, "work", "root"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	for _, name := range append([]string{jail.RootLayer}, layer.Tops()...) {
		if err := os.Mkdir(filepath.Join(dir, layerDir, name), m.topMode(name)); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, "work", name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// topMode is the mode that a top directory shows: in an overlay the upper
// one's counts.
func (m *Manager) topMode(name string) fs.FileMode {
	if st, err := os.Stat("/" + name); err == nil && name != jail.RootLayer {
		return st.Mode().Perm()
	}
	return 0o755
}

func (m *Manager) shimConfig(rec *record, tops []string, q createRequest) shim.Config {
	rel := filepath.Join(sandboxesDir, rec.ID)
	spec := jail.Spec{
		ID: rec.ID, Hostname: "sandbox", Level: m.opts.Level, DataDir: m.opts.DataDir,
		Upper: filepath.Join(rel, layerDir), Work: filepath.Join(rel, "work"), Root: filepath.Join(rel, "root"),
		Tops: tops, Copied: m.opts.Copied, Volatile: m.opts.Volatile, Landlock: m.opts.Landlock,
		Memory: uint64(max(q.limits.Memory, 0)), Polite: !m.opts.Groups.Has("cpu"),
	}
	for _, id := range rec.Snapshots {
		spec.Lowers = append(spec.Lowers, filepath.Join(snapshotsDir, id, layerDir))
	}
	if rec.Base != "" {
		spec.Lowers = append(spec.Lowers, filepath.Join(baseDir, rec.Base))
	}
	if !m.opts.Groups.Has("memory") && q.limits.Memory > 0 {
		spec.MaxMemory = uint64(q.limits.Memory)
	}
	if !m.opts.Groups.Has("pids") && m.opts.UserNamespace && m.isolated() {
		spec.MaxProcesses = uint64(q.limits.Processes) // counted per user namespace
	}
	env := map[string]string{"PATH": searchPath}
	if rec.Credentials {
		maps.Copy(env, trust.Environment())
	}
	if m.isolated() {
		env["HOME"] = "/root"
		env["EXECD_ENVS"] = "/opt/opensandbox/.env" // as the original's; clients add to it
	}
	workDir, user := "", ""
	if rec.Root != nil {
		spec.Bottom, workDir = m.bottom(rec.Root), rec.Root.WorkDir
		if user = m.user(rec.Root); user != "" {
			delete(env, "HOME") // it has its own
		}
		maps.Copy(env, rec.Root.environment())
	}
	maps.Copy(env, q.env)
	return shim.Config{
		Dir:       m.path(sandboxesDir, rec.ID),
		ExpiresAt: rec.ExpiresAt,
		Disk:      rec.Disk,
		Guest: guest.Config{
			Jail: spec, Env: env, Entrypoint: q.entrypoint, WorkDir: workDir, User: user,
			NoGroups: !m.manyUsers(),
			Usage:    rec.Group.UsageFiles(), CPU: q.limits.CPU, Memory: q.limits.Memory,
		},
	}
}
