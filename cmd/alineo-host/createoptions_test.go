package main

import (
	"encoding/json"
	"testing"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

func TestVolumes(t *testing.T) {
	t.Parallel()
	volumes, err := parseVolumes([]string{"cache:/root/.cache", "/srv/data:/data:ro"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(volumes)
	const want = `[{"name":"volume-1","pvc":{"claimName":"cache"},"mountPath":"/root/.cache"},` +
		`{"name":"volume-2","host":{"path":"/srv/data"},"mountPath":"/data","readOnly":true}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	for _, text := range []string{"", "/data", ":/data", "cache:", "cache:data", "cache:/data:rw", "a:/b:/c", "a:ro"} {
		if got, err := parseVolumes([]string{text}); err == nil {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestServerFlags(t *testing.T) {
	t.Parallel()
	var opts sandbox.CreateOptions
	f := serverFlags{metadata: []string{"a=b=c", "empty="}, extensions: []string{"poolRef=warm"}, platform: "linux/arm64", entrypoint: []string{"sleep", "9"}}
	if err := f.apply(&opts); err != nil {
		t.Fatal(err)
	}
	if opts.Metadata["a"] != "b=c" || len(opts.Metadata) != 2 || opts.Extensions["poolRef"] != "warm" || opts.Platform.OS != "linux" ||
		opts.Platform.Arch != "arm64" || len(opts.Entrypoint) != 2 || opts.ImageAuth != nil {
		t.Errorf("got %+v", opts)
	}
	for _, platform := range []string{"linux", "/amd64", "linux/", "linux/arm/v7"} {
		if err := (&serverFlags{platform: platform}).apply(&opts); err == nil {
			t.Errorf("%q was taken", platform)
		}
	}
}
