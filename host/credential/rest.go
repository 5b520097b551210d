package credential

import "strings"

// rest is a form of which so many bytes have come.
type rest struct {
	form string
	come int
}

// rests returns how a text may go on whose end, that is known by its length alone, is the beginning of a
// form: with that form, or with one that begins later in it.
func (p *patterns) rests(length int) (all []rest) {
	if p == nil {
		return nil
	}
	seen := make(map[rest]struct{})
	for _, came := range p.sorted {
		if len(came) <= length {
			continue
		}
		for from := range length {
			end := came[from:length]
			for _, form := range p.sorted {
				may := rest{form, len(end)}
				if _, has := seen[may]; !has && len(form) > len(end) && strings.HasPrefix(form, end) {
					seen[may] = struct{}{}
					all = append(all, may)
				}
			}
		}
	}
	return all
}

// goOn returns how much of a text's beginning is the longest of the rests, and those that the text's end
// may have cut off.
func goOn(rests []rest, text []byte) (end int, cut []rest) {
	for _, may := range rests {
		switch more := may.form[may.come:]; {
		case len(more) > len(text):
			if strings.HasPrefix(more, string(text)) {
				cut = append(cut, may)
			}
		case strings.HasPrefix(string(text), more):
			end = max(end, len(more))
		}
	}
	return end, cut
}

// longest returns how much has come of the one of which the most has.
func longest(rests []rest) (come int) {
	for _, may := range rests {
		come = max(come, may.come)
	}
	return come
}
