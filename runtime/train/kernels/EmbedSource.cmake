# cmake -DFILES=a;b -DOUTPUT=file -P EmbedSource.cmake: writes the files as C++ raw string literals,
# one per file, because compilers limit the length of a literal.
set(text "")
foreach(file ${FILES})
  file(READ ${file} content)
  string(APPEND text "R\"mlir(${content})mlir\"\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
