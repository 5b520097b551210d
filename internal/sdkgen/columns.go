package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// columnSet is the columns of one table, in their order.
type columnSet struct {
	name    string // Entry
	doc     string
	columns []column
}

type column struct {
	name string // sandbox_id
	doc  string
}

// readColumns finds the columns of the tables in package abi: blocks of constants that count from 0
// and end with a name in Columns.
func readColumns(dir string) ([]columnSet, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("reading the columns: %w", err)
	}
	fset := token.NewFileSet()
	var sets []columnSet
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the columns: %w", err)
		}
		parsed, err := parser.ParseFile(fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading the columns: %w", err)
		}
		for _, decl := range parsed.Decls {
			if set, ok := readColumnSet(decl); ok {
				sets = append(sets, set)
			}
		}
	}
	return sets, nil
}

func readColumnSet(decl ast.Decl) (columnSet, bool) {
	block, ok := decl.(*ast.GenDecl)
	if !ok || block.Tok != token.CONST || !strings.HasPrefix(block.Doc.Text(), "Columns of") {
		return columnSet{}, false
	}
	last, ok := block.Specs[len(block.Specs)-1].(*ast.ValueSpec)
	if !ok || !strings.HasSuffix(last.Names[0].Name, "Columns") {
		return columnSet{}, false
	}
	set := columnSet{
		name: strings.TrimSuffix(last.Names[0].Name, "Columns"), doc: strings.TrimSpace(strings.ReplaceAll(block.Doc.Text(), "Op", "")),
	}
	for _, spec := range block.Specs[:len(block.Specs)-1] {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			return columnSet{}, false
		}
		name := strings.TrimPrefix(value.Names[0].Name, set.name)
		set.columns = append(set.columns, column{name: snake(name), doc: strings.TrimSpace(value.Comment.Text())})
	}
	return set, true
}
