// Package jsontext looks at the text of JSON strings as fast as Go can, several bytes at a time.
//
//	n := jsontext.Plain(inside) // up to the next quote, backslash or control character
//
// imports: none of ours.
package jsontext
