package opjson

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// completeAppend fills in what a request of ledger.append need not say: counts, what a segment's entries
// tell of it, and ids and hashes, which are made up.
func completeAppend(value map[string]any) error {
	entries, ok := objects(value["entries"])
	segments, also := objects(value["segments"])
	if !ok || !also {
		return errors.New("entries and segments are arrays of objects, one a row")
	}
	owner := make([]int, len(entries)) // segment by entry
	size, now := 0, time.Now().UnixMilli()
	for i, e := range entries {
		missing(e, "segment", number(0))
		n, err := strconv.Atoi(fmt.Sprint(e["segment"]))
		if err != nil || n < 0 || n >= len(segments) {
			return fmt.Errorf("entries: row %d is of segment %v, and there are %d segments", i, e["segment"], len(segments))
		}
		owner[i] = n
		missing(e, "step", number(0))
		missing(e, "ts", number(now))
		for _, key := range [...]string{"sandboxId", "name"} {
			missing(e, key, segments[n][key])
		}
		size += len(fmt.Sprint(e["event"]))
		if payload, given := e["payload"]; given {
			cell, err := readCell(payload, "json")
			if err != nil {
				return fmt.Errorf("entries: row %d, payload: %w", i, err)
			}
			size += len(cell.Bytes)
		}
	}
	for n, s := range segments {
		var leaves []byte
		count, last, newest := 0, -1, int64(0)
		for i, e := range entries {
			if owner[i] != n {
				continue
			}
			count, last = count+1, i
			leaf := sha256.Sum256([]byte(fmt.Sprint(e)))
			leaves = append(leaves, leaf[:]...)
			if ts, err := strconv.ParseInt(fmt.Sprint(e["ts"]), 10, 64); err == nil {
				newest = max(newest, ts)
			}
		}
		missing(s, "count", number(count))
		missing(s, "after", number(len(entries)-1-last))
		missing(s, "maxTs", number(newest))
		id := make([]byte, 16)
		if _, err := rand.Read(id); err != nil {
			return fmt.Errorf("making up a segment's id: %w", err)
		}
		missing(s, "id", hex.EncodeToString(id))
		missing(s, "leaves", hex.EncodeToString(leaves))
		hash := sha256.Sum256(append([]byte(fmt.Sprint(s["previous"], s["id"])), leaves...))
		missing(s, "hash", hex.EncodeToString(hash[:]))
	}
	missing(value, "entryCount", number(len(entries)))
	missing(value, "segmentCount", number(len(segments)))
	missing(value, "size", number(size))
	return nil
}

// completeLog fills in what a request of log.append need not say.
func completeLog(value map[string]any, events []any) {
	list, ok := objects(events)
	if !ok {
		return // reading the rows will say so
	}
	size := 0
	for i, e := range list {
		missing(e, "run", value["runId"])
		missing(e, "behind", number(len(list)-1-i))
		if data, err := readBytes(e["data"]); err == nil {
			size += len(data)
		}
	}
	missing(value, "count", number(len(list)))
	missing(value, "size", number(size))
}

// objects are the elements of an array, which must all be objects. Nothing is no elements.
func objects(value any) ([]map[string]any, bool) {
	list, ok := value.([]any)
	if value == nil {
		return nil, true
	}
	all := make([]map[string]any, len(list))
	for i, element := range list {
		object, isObject := element.(map[string]any)
		if !isObject {
			return nil, false
		}
		all[i] = object
	}
	return all, ok
}

// missing sets a member that is not there.
func missing(object map[string]any, key string, value any) {
	if _, given := object[key]; !given {
		object[key] = value
	}
}

func number[N int | int64](n N) json.Number { return json.Number(strconv.FormatInt(int64(n), 10)) }
