// Package config reads alineo.toml.
//
// Most programs need three lines:
//
//	cfg, err := config.Load(config.Find(flag))
//	if err != nil { … every problem of the file, one a line, in the order of the file … }
//	h, err := host.Open(ctx, cfg)
//
// [Find] picks the file: the one that was named on the command line, else $ALINEO_CONFIG, else
// ./alineo.toml when there is one, else none. No file is needed: without one, [Load] answers with the
// defaults. An embedder who wants neither file nor environment starts from [Default] and sets fields.
//
// [Config] is the decoded file, key for key. A few rules hold everywhere:
//
//   - A value may be a reference: "env:NAME" is the environment variable NAME, "file:PATH" is the
//     content of a file without its last line break. A reference that leads nowhere is a problem.
//     What a reference yields is never read as a reference again.
//   - Relative paths, also after file:, are relative to the directory of the file that they stand in
//     (without a file: to the working directory); ~/ is the home directory.
//   - Sizes are written "64MiB", durations "5s".
//   - OPEN_SANDBOX_URL and OPEN_SANDBOX_API_KEY are used when the file says nothing about
//     sandbox.url and sandbox.api_key, and DATABASE_URL when it says nothing about where the bundled
//     PostgreSQL plugin's database is. The PG* variables fill in whatever a dsn leaves out, as they
//     do for libpq.
//   - A key that this version does not know is a problem, and so is one that is planned for a later
//     version: nothing that somebody wrote down is ignored.
//
// Problems come all at once, as a [Problems] error, each with its place:
//
//	alineo.toml:12:5: plugins.sqlite.limits.memory: "64MB" is not a size (try "64MiB")
//
// One piece of sugar: [plugins.sqlite.config] may give path, synchronous and busy_timeout to the
// bundled SQLite plugin, and [plugins.postgres.config] url (the dsn), pool_size, statement_timeout and
// allow_superuser to the bundled PostgreSQL plugin. They become the database that the plugin is
// granted, [plugins.NAME.sql.ledger], and are not handed to the guest, which never sees a path or a
// password.
//
// A plugin that refuses its configuration names keys below its own table; [Config.Problem] turns
// such a complaint into a Problem at the right line.
//
// imports: nothing of ours.
package config
