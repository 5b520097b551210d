// Package schema checks a plugin's configuration against the JSON Schema of its manifest.
//
//	s, err := schema.Parse(`{"type":"object","properties":{"retries":{"type":"integer","minimum":0}}}`)
//	for _, problem := range s.Check(`{"retries":-1}`) {
//		fmt.Println(problem.Key, problem.Message) // retries must be at least 0
//	}
//
// It knows the part of JSON Schema that configurations need: type, enum, const, properties, required,
// additionalProperties, items, minItems, maxItems, minLength, maxLength, pattern, minimum, maximum,
// exclusiveMinimum, exclusiveMaximum, and boolean schemas. Words that only describe are read over. Any
// other word, such as $ref or oneOf, is left to the guest, which checks its configuration itself;
// [Schema.Unchecked] names them.
//
// A schema comes from a guest, so it is bounded: nothing of it is loaded from elsewhere, and a check
// takes as long as schema and configuration are large. No message repeats a value, which may be secret.
//
// imports: nothing of ours.
package schema
