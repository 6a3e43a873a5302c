# cmake -DFILES=a;b -DOUTPUT=file -P EmbedSource.cmake: the files' text as C++ raw string literals,
# one per file (compilers limit the length of a single literal).
set(text "")
foreach(file ${FILES})
  file(READ ${file} content)
  string(APPEND text "R\"mlir(${content})mlir\"\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
