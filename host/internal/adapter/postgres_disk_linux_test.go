package adapter_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// TestPostgresFullDisk fills the disk that the ledger lies on, and frees it again.
func TestPostgresFullDisk(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{})
	place := server.Folder(t, "small")
	if err := syscall.Mount("tmpfs", place, "tmpfs", 0, "size=40m"); err != nil {
		t.Skipf("SKIPPED: a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		server.Down(t)
		if err := syscall.Unmount(place, 0); err != nil {
			t.Error(err)
		}
	})
	server.Own(t, place)
	server.Exec(t, "CREATE TABLESPACE small LOCATION '"+place+"'")
	name, dsn := server.Database(t)
	server.Exec(t, "ALTER DATABASE "+name+" SET TABLESPACE small")
	n, err := claim(t.Context(), openLedger(t, newRuntime(t), dsn), "run", "id")
	if err == nil {
		err = n.append(t.Context(), 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	admin := server.Conn(t, name)
	if _, err := admin.Exec(t.Context(), "CREATE TABLE filler AS SELECT repeat(md5(i::text), 30) FROM generate_series(1, 10000) i"); err != nil {
		t.Fatal(err)
	}
	_, err = admin.Exec(t.Context(), "DO $$ BEGIN LOOP CREATE TABLE IF NOT EXISTS more (t text); INSERT INTO more SELECT repeat(md5(i::text), 30) FROM generate_series(1, 100) i; COMMIT; END LOOP; END $$")
	if err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Fatalf("filling the disk: %v", err)
	}
	for full := 0; full < 3; {
		s := n.segment(200, strings.Repeat("x", 500))
		err := n.l.Append(t.Context(), &store.Batch{Segments: []store.Segment{s}})
		switch {
		case err == nil: // there was room in the last pages
			n.accept(&s)
			continue
		case !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the database server's disk is full"):
			t.Fatalf("appending to a full disk: %v", err)
		}
		full++
	}
	if err := n.check(t.Context()); err != nil {
		t.Errorf("reading from a full disk: %v", err)
	}
	if _, err := admin.Exec(t.Context(), "DROP TABLE filler, more"); err != nil {
		t.Fatal(err)
	}
	if err := n.append(t.Context(), 200); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
	if err := n.check(t.Context()); err != nil {
		t.Error(err)
	}
}
