package alineo

// Arrays adds a form of the step's statement that does it for all rows of the batch at once: there, each
// column that the step binds is an array of that column's values. It is for databases that have
// arrays, where nothing is faster:
//
//	alineo.Statement("INSERT INTO notes(at, text) VALUES ($1, $2)", alineo.Columns(1, 0)...).
//		Arrays("INSERT INTO notes(at, text) SELECT * FROM unnest($1::bigint[], $2::text[])")
func (s Step) Arrays(sql string) Step {
	s.step.ManySQL, s.step.ManyRows = sql, 0
	return s
}
