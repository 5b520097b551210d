package ledger

import "maps"

// Members collects a payload's members, for tests.
func Members(payload []byte) (map[string][]byte, error) {
	o, err := openObject(payload)
	if err != nil {
		return nil, err
	}
	return maps.Collect(o.members()), nil
}

// Text decodes a string value, for tests.
func Text(value []byte) string { return text(value) }
