package ledger

// Members collects a payload's members, for tests.
func Members(payload []byte) (map[string][]byte, error) {
	o, err := openObject(payload)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for name, value := range o.members() {
		all[name] = value
	}
	return all, nil
}

// Text decodes a string value, for tests.
func Text(value []byte) string { return text(value) }
