package durable

import (
	"encoding/json"
	"unicode/utf8"
)

// MarshalJSON writes an event for programs: output as text, or as base64 when it is no UTF-8, and the data of all
// other kinds as the JSON that it is, or likewise.
func (e Event) MarshalJSON() ([]byte, error) {
	shown := struct {
		Offset uint64          `json:"offset"`
		TS     int64           `json:"ts"`
		Kind   string          `json:"kind"`
		Text   *string         `json:"text,omitempty"`
		Base64 []byte          `json:"base64,omitempty"`
		Data   json.RawMessage `json:"data,omitempty"`
		Lost   bool            `json:"lost,omitempty"`
	}{Offset: e.Offset, TS: e.TS, Kind: e.Kind, Lost: e.Lost}
	switch {
	case e.Kind != EventOutput && json.Valid(e.Data):
		shown.Data = e.Data
	case utf8.Valid(e.Data):
		text := string(e.Data)
		shown.Text = &text
	default:
		shown.Base64 = e.Data
	}
	return json.Marshal(shown)
}
