// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of code.
type Block struct {
	// Page and Line say where its text begins.
	Page string
	Line int
	// Language is the word behind the fence, Remark the line before it.
	Language, Remark, Text string
}

var fence = regexp.MustCompile("^( *)```([a-z]*)$")

// Blocks gives the blocks of code of a page, without the indentation of their fences.
func Blocks(page, text string) []Block {
	var blocks []Block
	var open *Block
	indent, before := "", ""
	for i, line := range strings.Split(text, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil:
			indent, open = match[1], &Block{Page: page, Line: i + 2, Language: match[2], Remark: before}
		case open != nil && match != nil && match[2] == "":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		}
		before = line
	}
	return blocks
}

// prose gives a page without its blocks of code, and as many lines.
func prose(text string) string {
	var kept []string
	isFenced, isIndented, isBlank := false, false, true
	for _, line := range strings.Split(text, "\n") {
		isFence := fence.MatchString(line)
		isIndented = strings.HasPrefix(line, "    ") && (isBlank || isIndented)
		isBlank = strings.TrimSpace(line) == ""
		if isFence || isFenced || isIndented {
			line = ""
		}
		kept = append(kept, line)
		isFenced = isFenced != isFence
	}
	return strings.Join(kept, "\n")
}

// inlineCode is code in a text, which may go over the end of a line.
var inlineCode = regexp.MustCompile("`[^`]+`")

// commandLine is a call of a program on a page.
type commandLine struct {
	number int
	args   []string
	// inText says that it stands in a sentence, which may leave arguments out.
	inText bool
}

// commandLines finds the calls of a program.
func commandLines(text, program string) []commandLine {
	var found []commandLine
	for _, block := range Blocks("", text) {
		for _, line := range shellLines(block) {
			for _, args := range calls(line.text, program) {
				found = append(found, commandLine{number: line.number, args: args})
			}
		}
	}
	plain := prose(text)
	for _, place := range inlineCode.FindAllStringIndex(plain, -1) {
		code := strings.ReplaceAll(plain[place[0]+1:place[1]-1], "\n", " ")
		if !strings.HasPrefix(code, program+" ") {
			continue
		}
		for _, args := range calls(code, program) {
			found = append(found, commandLine{number: 1 + strings.Count(plain[:place[0]], "\n"), args: args, inText: true})
		}
	}
	return found
}

type shellLine struct {
	number int
	text   string
}

// shellLines gives what a shell is told in a block: of a console, what stands behind the
// prompt. Lines that a backslash continues are one.
func shellLines(block Block) []shellLine {
	isConsole := block.Language == "console"
	if !isConsole && block.Language != "sh" {
		return nil
	}
	var lines []shellLine
	continued := false
	for i, text := range strings.Split(block.Text, "\n") {
		command, isPrompt := strings.CutPrefix(text, "$ ")
		if isConsole && !isPrompt && !continued {
			continue
		}
		command, goesOn := strings.CutSuffix(command, "\\")
		if continued {
			lines[len(lines)-1].text += " " + command
		} else {
			lines = append(lines, shellLine{block.Line + i, command})
		}
		continued = goesOn
	}
	return lines
}

// calls finds the commands of a line that call a program, and gives the words behind its name.
func calls(line, program string) [][]string {
	name := strings.Fields(program)
	var found [][]string
	for _, command := range commands(line) {
		for len(command) > 0 && (slices.Contains(shellWords, command[0]) || assignment.MatchString(command[0])) {
			command = command[1:]
		}
		if len(command) >= len(name) && slices.Equal(command[:len(name)], name) {
			found = append(found, command[len(name):])
		}
	}
	return found
}

// What may stand before a command.
var (
	shellWords = []string{"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "exec", "sudo", "env"}
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// commands takes a line apart into commands and their words, as a shell does. Redirections and
// comments are left out.
func commands(line string) [][]string {
	var all [][]string
	var words []string
	var word strings.Builder
	started, skip := false, false
	endWord := func() {
		if started && !skip {
			words = append(words, word.String())
		}
		skip = skip && !started
		word.Reset()
		started = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			all = append(all, words)
		}
		words, skip = nil, false
	}
	var quote rune
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == '#' && !started:
			endCommand()
			return all
		case r == ' ' || r == '\t':
			endWord()
		case strings.ContainsRune(";|&()", r):
			endCommand()
		case r == '<' || r == '>':
			endWord()
			skip = true
		default:
			word.WriteRune(r)
			started = true
		}
	}
	endCommand()
	return all
}
