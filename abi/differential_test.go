package abi_test

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/alineo-labs/alineo-host/abi"
)

var errNotAValue = errors.New("not a tagged value")

// TestSchemaIsTheTypes compares the .proto files with the Go types field by field: numbers are the
// order of the struct's fields, names are the same words.
func TestSchemaIsTheTypes(t *testing.T) {
	t.Parallel()
	left := maps.Clone(schema(t))
	for _, m := range allMessages() {
		name := messageName(m)
		desc := left[name]
		delete(left, name)
		if desc == nil {
			t.Errorf("the schema has no message %s", name)
			continue
		}
		typ := reflect.TypeOf(m).Elem()
		if typ.NumField() != desc.Fields().Len() {
			t.Errorf("%s has %d fields, the schema %d", name, typ.NumField(), desc.Fields().Len())
		}
		for i := range typ.NumField() {
			field := desc.Fields().ByNumber(protoreflect.FieldNumber(i + 1))
			if field == nil {
				t.Errorf("%s.%s: the schema has no field %d", name, typ.Field(i).Name, i+1)
				continue
			}
			if got := strings.ReplaceAll(string(field.Name()), "_", ""); got != strings.ToLower(typ.Field(i).Name) {
				t.Errorf("%s field %d is %s here and %s in the schema", name, i+1, typ.Field(i).Name, field.Name())
			}
			if optional := typ.Field(i).Type.Kind() == reflect.Pointer; optional != field.HasOptionalKeyword() {
				t.Errorf("%s.%s: optional here %v, in the schema %v", name, typ.Field(i).Name, optional, field.HasOptionalKeyword())
			}
		}
	}
	for name := range left {
		t.Errorf("message %s of the schema has no Go type", name)
	}
}

// TestOfficialRuntimeAgrees sends every sample through the official runtime and back.
func TestOfficialRuntimeAgrees(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			wire := s.message.AppendTo(nil)
			agree(t, s.message, wire)
			// Our form is their deterministic one, to the byte.
			theirs := dynamicpb.NewMessage(schema(t)[messageName(s.message)])
			if err := proto.Unmarshal(wire, theirs); err != nil {
				t.Fatal(err)
			}
			if w, err := (proto.MarshalOptions{Deterministic: true}).Marshal(theirs); err != nil || !bytes.Equal(w, wire) {
				t.Errorf("they write %x, %v, we write %x", w, err, wire)
			}
		})
	}
}

// agree checks wire against both codecs: either both read the same from it, or both refuse it; what
// one writes the other reads.
func agree(t *testing.T, empty abi.Message, wire []byte) {
	t.Helper()
	desc := schema(t)[messageName(empty)]
	theirs := dynamicpb.NewMessage(desc)
	theirErr := proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(wire, theirs)
	ours := newMessage(empty)
	ourErr := ours.Unmarshal(wire)

	var want map[string]any
	if theirErr == nil {
		want, theirErr = theirTree(theirs)
	}
	switch {
	case ourErr != nil && theirErr != nil:
		if !errors.Is(ourErr, abi.ErrMalformed) {
			t.Fatalf("%x: %v does not wrap ErrMalformed", wire, ourErr)
		}
		return
	case ourErr != nil && strings.Contains(ourErr.Error(), "groups"):
		return // the one thing of protobuf that this format leaves out
	case ourErr != nil || theirErr != nil:
		t.Fatalf("%s from %x: our error %v, theirs %v", desc.Name(), wire, ourErr, theirErr)
	}
	got := treeOf(t, ours)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s from %x:\nours   %v\ntheirs %v", desc.Name(), wire, got, want)
	}

	// What we write they read.
	canonical := ours.AppendTo(nil)
	again := dynamicpb.NewMessage(desc)
	if err := proto.Unmarshal(canonical, again); err != nil {
		t.Fatalf("they refuse what we wrote, %x: %v", canonical, err)
	}
	if len(again.GetUnknown()) != 0 {
		t.Fatalf("they do not know a field that we wrote: %x", canonical)
	}
	if tree, err := theirTree(again); err != nil || !reflect.DeepEqual(tree, want) {
		t.Fatalf("they read %v, %v from what we wrote, want %v", tree, err, want)
	}
	// What they write we read.
	written, err := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	back := newMessage(empty)
	if err := back.Unmarshal(written); err != nil {
		t.Fatalf("we refuse what they wrote, %x: %v", written, err)
	}
	if tree := treeOf(t, back); !reflect.DeepEqual(tree, want) {
		t.Fatalf("we read %v from what they wrote, want %v", tree, want)
	}
	// Ours is the canonical form: stable when it is read and written again.
	if second := back.AppendTo(nil); !bytes.Equal(second, canonical) {
		t.Fatalf("writing %v again gave %x, want %x", want, second, canonical)
	}
}

// unknown is one field of each wire type that no message has.
func unknown() []byte {
	var b []byte
	b = protowire.AppendVarint(protowire.AppendTag(b, 1000, protowire.VarintType), 1<<63)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 1001, protowire.Fixed32Type), 7)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 1002, protowire.Fixed64Type), 7)
	b = protowire.AppendBytes(protowire.AppendTag(b, protowire.MaxValidNumber, protowire.BytesType), []byte("later"))
	// A field that is known, with a wire type that it never had.
	return protowire.AppendFixed32(protowire.AppendTag(b, 1, protowire.Fixed32Type), 7)
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		wire := s.message.AppendTo(nil)
		for _, w := range [][]byte{append(unknown(), wire...), append(bytes.Clone(wire), unknown()...)} {
			got := newMessage(s.message)
			if err := got.Unmarshal(w); err != nil {
				t.Errorf("%s with unknown fields: %v", s.name, err)
				continue
			}
			if again := got.AppendTo(nil); !bytes.Equal(again, wire) {
				t.Errorf("%s with unknown fields was read as %x, want %x", s.name, again, wire)
			}
			agree(t, s.message, w)
		}
	}
}
