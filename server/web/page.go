package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"time"
)

//go:embed page
var pages embed.FS

// pageNames are the files of the page besides index.html.
var pageNames = []string{"page.css", "page.js", "list.js", "charts.js", "format.js", "controller.js", "icon.svg"}

// pageFile serves a file of the page. Browsers ask each time whether it has changed, which it has when another version of the
// server runs.
func pageFile(name string) http.Handler {
	content, err := pages.ReadFile("page/" + name)
	if err != nil {
		panic("web: no page " + name)
	}
	digest := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(digest[:8]) + `"`
	kind := mime.TypeByExtension(path.Ext(name))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", kind)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
