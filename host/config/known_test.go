package config_test

import (
	"slices"
	"testing"

	"github.com/alineo-labs/alineo-host/host/config"
)

func TestEachSecret(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("alineo.toml", []byte(`
[sandbox]
url = "https://sandboxes.example.com"
api_key = "api-key-12345"
[ledger]
plugin = "postgres"
[plugins.postgres.sql.ledger]
driver = "postgres"
dsn = "postgres://user:pass%2Fword1@db.example.com/x"
[plugins.postgres.sql.other]
driver = "postgres"
dsn = "host=db password='quoted pass' dbname=x"
[secrets]
long = "a-long-secret"
short = "word"
`), config.WithEnv(func(string) (string, bool) { return "", false }), config.WithBundled("sqlite", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range cfg.EachSecret() {
		got = append(got, s.Reveal())
	}
	slices.Sort(got)
	if want := []string{"a-long-secret", "api-key-12345", "pass/word1", "quoted pass"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
